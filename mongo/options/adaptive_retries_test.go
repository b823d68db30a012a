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
		{name: "default", opts: Client(), want: nil},
		{name: "set", opts: Client().SetAdaptiveRetries(true), want: &yes},
		{name: "set to false", opts: Client().SetAdaptiveRetries(false), want: &no},
		{name: "URI without it", opts: Client().ApplyURI("mongodb://example.com"), want: nil},
		{name: "URI", opts: Client().ApplyURI("mongodb://example.com/?adaptiveRetries=true"), want: &yes},
		{name: "URI false", opts: Client().ApplyURI("mongodb://example.com/?adaptiveRetries=false"), want: &no},
		{
			name: "a setter overrides the URI",
			opts: Client().ApplyURI("mongodb://example.com/?adaptiveRetries=true").SetAdaptiveRetries(false),
			want: &no,
		},
		{
			name: "the URI overrides a setter",
			opts: Client().SetAdaptiveRetries(false).ApplyURI("mongodb://example.com/?adaptiveRetries=true"),
			want: &yes,
		},
		{
			name: "a URI without it keeps the setter's",
			opts: Client().SetAdaptiveRetries(true).ApplyURI("mongodb://example.com"),
			want: &yes,
		},
		{
			name: "the later of merged options",
			opts: MergeClientOptions(Client().SetAdaptiveRetries(true), Client().SetAdaptiveRetries(false)),
			want: &no,
		},
		{name: "merged options that lack it", opts: MergeClientOptions(Client().SetAdaptiveRetries(true), Client()), want: &yes},
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
