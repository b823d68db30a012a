//fork:base <v2.7.0

package unified

import (
	"fmt"

	"go.mongodb.org/mongo-driver/v2/event"
)

// verifySDAMEvents compares server descriptions by the unified test format: what a test does not name matches anything, and
// the previous description is compared with the previous one. What it calls takes a description that is not named for one
// without a type, and exchanges the two.
//
//fork:wrap tests of the specification name none, as backpressure-server-description-unchanged-on-min-pool-size-population-error.json
func verifySDAMEvents(client *clientEntity, expectedEvents *expectedEvents) error {
	adapted := *expectedEvents
	adapted.SDAMEvents = append([]sdamEvent(nil), expectedEvents.SDAMEvents...)
	seen := client.serverDescriptionChanged
	for i, want := range expectedEvents.SDAMEvents {
		if want.ServerDescriptionChangedEvent == nil || len(seen) == 0 {
			continue
		}
		if err := matchServerDescriptions(want, seen[0]); err != nil {
			return newEventVerificationError(i, client, "%v", err)
		}
		adapted.SDAMEvents[i] = exchanged(want, seen[0])
		seen = seen[1:]
	}
	return upstreamVerifySDAMEvents(client, &adapted)
}

// matchServerDescriptions compares an event with what a test names of it.
func matchServerDescriptions(want sdamEvent, got *event.ServerDescriptionChangedEvent) error {
	named := want.ServerDescriptionChangedEvent
	if d := named.PreviousDescription; d != nil && d.Type != nil && *d.Type != got.PreviousDescription.Kind {
		return fmt.Errorf("expected previous server description %q, got %q", *d.Type, got.PreviousDescription.Kind)
	}
	if d := named.NewDescription; d != nil && d.Type != nil && *d.Type != got.NewDescription.Kind {
		return fmt.Errorf("expected new server description %q, got %q", *d.Type, got.NewDescription.Kind)
	}
	return nil
}

// exchanged returns an expectation of exactly this event in the form in which it is compared then.
func exchanged(want sdamEvent, got *event.ServerDescriptionChangedEvent) sdamEvent {
	named := *want.ServerDescriptionChangedEvent
	before, after := got.PreviousDescription.Kind, got.NewDescription.Kind
	named.PreviousDescription = &struct {
		Type *string `bson:"type"`
	}{&after}
	named.NewDescription = &struct {
		Type *string `bson:"type"`
	}{&before}
	want.ServerDescriptionChangedEvent = &named
	return want
}
