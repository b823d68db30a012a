//fork:base <v2.7.0

package unified

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
)

func TestVerifyServerDescriptionChangedEvent(t *testing.T) {
	for _, tt := range []struct {
		name, expected string
		ok             bool
	}{
		{"nothing is named", `{}`, true},
		{"both are named", `{"previousDescription": {"type": "Unknown"}, "newDescription": {"type": "Standalone"}}`, true},
		{"one is named", `{"newDescription": {"type": "Standalone"}}`, true},
		{"a description without a type", `{"newDescription": {}}`, true},
		{"another previous one", `{"previousDescription": {"type": "Standalone"}}`, false},
		{"another new one", `{"newDescription": {"type": "Unknown"}}`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var want sdamEvent
			require.NoError(t, bson.UnmarshalExtJSON([]byte(`{"serverDescriptionChangedEvent": `+tt.expected+`}`), false, &want))
			client := &clientEntity{serverDescriptionChanged: []*event.ServerDescriptionChangedEvent{{
				PreviousDescription: event.ServerDescription{Kind: "Unknown"},
				NewDescription:      event.ServerDescription{Kind: "Standalone"},
			}}}
			err := verifySDAMEvents(client, &expectedEvents{SDAMEvents: []sdamEvent{want}})
			assert.Equal(t, tt.ok, err == nil, "%v", err)
		})
	}
}

func TestVerifyServerDescriptionChangedEventThatIsMissing(t *testing.T) {
	var want sdamEvent
	require.NoError(t, bson.UnmarshalExtJSON([]byte(`{"serverDescriptionChangedEvent": {}}`), false, &want))
	assert.Error(t, verifySDAMEvents(&clientEntity{}, &expectedEvents{SDAMEvents: []sdamEvent{want}}))
}
