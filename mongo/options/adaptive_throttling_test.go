package options

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
)

func TestAdaptiveThrottling(t *testing.T) {
	yes, no := true, false

	tests := []struct {
		name string
		opts *ClientOptions
		want *bool
	}{
		{"default", Client(), nil},
		{"set", Client().SetAdaptiveThrottling(true), &yes},
		{"set to false", Client().SetAdaptiveThrottling(false), &no},
		{"URI without it", Client().ApplyURI("mongodb://example.com"), nil},
		{"URI", Client().ApplyURI("mongodb://example.com/?adaptiveThrottling=true"), &yes},
		{"URI false", Client().ApplyURI("mongodb://example.com/?adaptiveThrottling=false"), &no},
		{"a setter overrides the URI", Client().ApplyURI("mongodb://example.com/?adaptiveThrottling=true").SetAdaptiveThrottling(false), &no},
		{"the URI overrides a setter", Client().SetAdaptiveThrottling(false).ApplyURI("mongodb://example.com/?adaptiveThrottling=true"), &yes},
		{"the other option does not matter", Client().ApplyURI("mongodb://example.com/?adaptiveRetries=true"), nil},
		{"the later of merged options", MergeClientOptions(Client().SetAdaptiveThrottling(true), Client().SetAdaptiveThrottling(false)), &no},
		{"merged options that lack it", MergeClientOptions(Client().SetAdaptiveThrottling(true), Client()), &yes},
	}
	for _, tt := range tests {
		tt := tt
		t.Run(tt.name, func(t *testing.T) {
			require.NoError(t, tt.opts.Validate())
			assert.Equal(t, tt.want, tt.opts.AdaptiveThrottling)
		})
	}
	assert.Error(t, Client().ApplyURI("mongodb://example.com/?adaptiveThrottling=yes").Validate())
}
