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
		{name: "nothing is named", expected: `{}`, ok: true},
		{
			name:     "both are named",
			expected: `{"previousDescription": {"type": "Unknown"}, "newDescription": {"type": "Standalone"}}`,
			ok:       true,
		},
		{name: "one is named", expected: `{"newDescription": {"type": "Standalone"}}`, ok: true},
		{name: "a description without a type", expected: `{"newDescription": {}}`, ok: true},
		{name: "another previous one", expected: `{"previousDescription": {"type": "Standalone"}}`, ok: false},
		{name: "another new one", expected: `{"newDescription": {"type": "Unknown"}}`, ok: false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var want sdamEvent
			require.NoError(
				t,
				bson.UnmarshalExtJSON([]byte(`{"serverDescriptionChangedEvent": `+tt.expected+`}`), false, &want),
			)
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
