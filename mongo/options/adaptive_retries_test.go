package options

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
)

func TestAdaptiveRetries(t *testing.T) {
	yes, no := true, false

	tests := []struct {
		name string
		opts *ClientOptions
		want *bool
	}{
		{"default", Client(), nil},
		{"set", Client().SetAdaptiveRetries(true), &yes},
		{"set to false", Client().SetAdaptiveRetries(false), &no},
		{"URI without it", Client().ApplyURI("mongodb://example.com"), nil},
		{"URI", Client().ApplyURI("mongodb://example.com/?adaptiveRetries=true"), &yes},
		{"URI false", Client().ApplyURI("mongodb://example.com/?adaptiveRetries=false"), &no},
		{"a setter overrides the URI", Client().ApplyURI("mongodb://example.com/?adaptiveRetries=true").SetAdaptiveRetries(false), &no},
		{"the URI overrides a setter", Client().SetAdaptiveRetries(false).ApplyURI("mongodb://example.com/?adaptiveRetries=true"), &yes},
		{"a URI without it keeps the setter's", Client().SetAdaptiveRetries(true).ApplyURI("mongodb://example.com"), &yes},
		{"the later of merged options", MergeClientOptions(Client().SetAdaptiveRetries(true), Client().SetAdaptiveRetries(false)), &no},
		{"merged options that lack it", MergeClientOptions(Client().SetAdaptiveRetries(true), Client()), &yes},
	}
	for _, tt := range tests {
		tt := tt
		t.Run(tt.name, func(t *testing.T) {
			require.NoError(t, tt.opts.Validate())
			assert.Equal(t, tt.want, tt.opts.AdaptiveRetries)
		})
	}
	assert.Error(t, Client().ApplyURI("mongodb://example.com/?adaptiveRetries=yes").Validate())
}
