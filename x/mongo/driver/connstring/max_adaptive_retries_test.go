package connstring_test

import (
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"
)

func TestMaxAdaptiveRetries(t *testing.T) {
	for query, want := range map[string]uint{
		"maxAdaptiveRetries=0": 0, "maxAdaptiveRetries=2": 2, "MAXadaptiveretries=7": 7, "maxAdaptiveRetries=2&maxAdaptiveRetries=3": 3,
		"other=1": 0,
	} {
		got, err := connstring.ParseAndValidate("mongodb://example.com/?" + query)
		require.NoError(t, err, query)
		assert.Equal(t, want, got.MaxAdaptiveRetries, query)
		assert.Equal(t, query != "other=1", got.MaxAdaptiveRetriesSet, query)
		for unknown := range got.UnknownOptions {
			assert.Equal(t, "other", unknown)
		}
	}
	for _, invalid := range []string{"-1", "true", "1.5", ""} {
		_, err := connstring.ParseAndValidate("mongodb://example.com/?maxAdaptiveRetries=" + invalid)
		require.Error(t, err, invalid)
		assert.Contains(t, strings.ToLower(err.Error()), `invalid value for "maxadaptiveretries"`)
	}
}
