package connstring_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"
)

func TestAdaptiveRetries(t *testing.T) {
	tests := []struct {
		name, query string
		want, set   bool
		invalid     bool
	}{
		{name: "not given"},
		{name: "true", query: "adaptiveRetries=true", want: true, set: true},
		{name: "false", query: "adaptiveRetries=false", set: true},
		{name: "the name is not case sensitive", query: "ADAPTIVEretries=true", want: true, set: true},
		{name: "the last one counts", query: "adaptiveRetries=true&adaptiveRetries=false", set: true},
		{name: "invalid", query: "adaptiveRetries=invalid", invalid: true},
		{name: "empty", query: "adaptiveRetries=", invalid: true},
		{name: "the value is case sensitive", query: "adaptiveRetries=True", invalid: true},
		{name: "one of two is invalid", query: "adaptiveRetries=1&adaptiveRetries=true", invalid: true},
	}
	for _, tt := range tests {
		tt := tt
		t.Run(tt.name, func(t *testing.T) {
			got, err := connstring.ParseAndValidate("mongodb://example.com/?other=1&" + tt.query)
			if tt.invalid {
				require.Error(t, err)
				assert.Contains(t, err.Error(), `invalid value for "adaptiveRetries"`)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tt.want, got.AdaptiveRetries)
			assert.Equal(t, tt.set, got.AdaptiveRetriesSet)
			assert.Equal(t, map[string][]string{"other": {"1"}}, got.UnknownOptions)
		})
	}
}
