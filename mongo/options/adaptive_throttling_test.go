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
		{name: "default", opts: Client(), want: nil},
		{name: "set", opts: Client().SetAdaptiveThrottling(true), want: &yes},
		{name: "set to false", opts: Client().SetAdaptiveThrottling(false), want: &no},
		{name: "URI without it", opts: Client().ApplyURI("mongodb://example.com"), want: nil},
		{name: "URI", opts: Client().ApplyURI("mongodb://example.com/?adaptiveThrottling=true"), want: &yes},
		{name: "URI false", opts: Client().ApplyURI("mongodb://example.com/?adaptiveThrottling=false"), want: &no},
		{
			name: "a setter overrides the URI",
			opts: Client().ApplyURI("mongodb://example.com/?adaptiveThrottling=true").SetAdaptiveThrottling(false),
			want: &no,
		},
		{
			name: "the URI overrides a setter",
			opts: Client().SetAdaptiveThrottling(false).ApplyURI("mongodb://example.com/?adaptiveThrottling=true"),
			want: &yes,
		},
		{
			name: "the other option does not matter",
			opts: Client().ApplyURI("mongodb://example.com/?adaptiveRetries=true"),
			want: nil,
		},
		{
			name: "the later of merged options",
			opts: MergeClientOptions(Client().SetAdaptiveThrottling(true), Client().SetAdaptiveThrottling(false)),
			want: &no,
		},
		{
			name: "merged options that lack it",
			opts: MergeClientOptions(Client().SetAdaptiveThrottling(true), Client()),
			want: &yes,
		},
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
