package options

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
)

func TestMaxAdaptiveRetries(t *testing.T) {
	const uri = "mongodb://example.com/?maxAdaptiveRetries=0"
	number := func(n uint) *uint { return &n }
	for name, tt := range map[string]struct {
		opts *ClientOptions
		want *uint
	}{
		"default":                    {opts: Client(), want: nil},
		"URI without it":             {opts: Client().ApplyURI("mongodb://example.com/?retryReads=true"), want: nil},
		"URI":                        {opts: Client().ApplyURI(uri), want: number(0)},
		"set":                        {opts: Client().SetMaxAdaptiveRetries(3), want: number(3)},
		"a setter overrides the URI": {opts: Client().ApplyURI(uri).SetMaxAdaptiveRetries(3), want: number(3)},
		"the URI overrides a setter": {opts: Client().SetMaxAdaptiveRetries(3).ApplyURI(uri), want: number(0)},
		"the later of merged options": {opts: MergeClientOptions(Client().SetMaxAdaptiveRetries(3), Client().ApplyURI(uri)),
			want: number(0)},
		"merged options that lack it": {opts: MergeClientOptions(Client().SetMaxAdaptiveRetries(3), Client()), want: number(3)},
	} {
		require.NoError(t, tt.opts.Validate(), name)
		assert.Equal(t, tt.want, tt.opts.MaxAdaptiveRetries, name)
	}
	assert.Error(t, Client().ApplyURI("mongodb://example.com/?maxAdaptiveRetries=-1").Validate())
}
