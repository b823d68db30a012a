package connstring_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"
)

// TestAdaptiveThrottling: the option is taken apart from adaptiveRetries, and is not among the unknown ones.
func TestAdaptiveThrottling(t *testing.T) {
	for query, want := range map[string][4]bool{
		"other=1":                  {},
		"adaptiveThrottling=true":  {true, true},
		"ADAPTIVEthrottling=true":  {true, true},
		"adaptiveThrottling=false": {false, true},
		"adaptiveRetries=true":     {false, false, true, true},
		"adaptiveThrottling=true&adaptiveThrottling=false&adaptiveRetries=true": {false, true, true, true},
	} {
		got, err := connstring.ParseAndValidate("mongodb://example.com/?" + query)
		require.NoError(t, err, query)
		assert.Equal(t, want, [4]bool{got.AdaptiveThrottling, got.AdaptiveThrottlingSet, got.AdaptiveRetries, got.AdaptiveRetriesSet}, query)
		_, unknown := got.UnknownOptions["adaptivethrottling"]
		assert.False(t, unknown, query)
	}
	for _, value := range []string{"1", "TRUE", "", "invalid"} {
		_, err := connstring.ParseAndValidate("mongodb://example.com/?adaptiveRetries=true&adaptiveThrottling=" + value)
		assert.ErrorContains(t, err, "want true or false", value)
	}
}
