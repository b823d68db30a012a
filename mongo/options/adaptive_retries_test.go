package options

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
)

func TestAdaptiveRetries(t *testing.T) {
	testSwitch(t, "adaptiveRetries", (*ClientOptions).SetAdaptiveRetries, func(o *ClientOptions) *bool { return o.AdaptiveRetries })
}

// testSwitch tests an option that is on, off or not set: by its setter, in a URI, and in merged options.
func testSwitch(t *testing.T, name string, set func(*ClientOptions, bool) *ClientOptions, get func(*ClientOptions) *bool) {
	t.Helper()
	yes, no := true, false
	uri := func(o *ClientOptions, query string) *ClientOptions {
		return o.ApplyURI("mongodb://example.com/" + query)
	}
	on, off := "?"+name+"=true", "?"+name+"=false"

	for _, tt := range []struct {
		name string
		opts *ClientOptions
		want *bool
	}{
		{name: "default", opts: Client(), want: nil},
		{name: "set", opts: set(Client(), true), want: &yes},
		{name: "set to false", opts: set(Client(), false), want: &no},
		{name: "URI without it", opts: uri(Client(), ""), want: nil},
		{name: "URI", opts: uri(Client(), on), want: &yes},
		{name: "URI false", opts: uri(Client(), off), want: &no},
		{name: "a setter overrides the URI", opts: set(uri(Client(), on), false), want: &no},
		{name: "the URI overrides a setter", opts: uri(set(Client(), false), on), want: &yes},
		{name: "a URI without it keeps the setter's", opts: uri(set(Client(), true), ""), want: &yes},
		{name: "other options do not matter", opts: uri(Client(), "?retryReads=true&retryWrites=true"), want: nil},
		{name: "the later of merged options", opts: MergeClientOptions(set(Client(), true), set(Client(), false)), want: &no},
		{name: "merged options that lack it", opts: MergeClientOptions(set(Client(), true), Client()), want: &yes},
	} {
		require.NoError(t, tt.opts.Validate(), tt.name)
		assert.Equal(t, tt.want, get(tt.opts), tt.name)
	}
	assert.Error(t, uri(Client(), "?"+name+"=yes").Validate())
}
