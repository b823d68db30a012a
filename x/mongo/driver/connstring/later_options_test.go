//fork:base <v2.7.0

package connstring_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"
)

// An option of later versions that would be ignored is an error, and an invalid value says which are valid.
func TestOverloadOptionsThatHaveNoEffect(t *testing.T) {
	for query, want := range map[string]string{
		"enableOverloadRetargeting=true":          "is an option of later versions of the driver, and has no effect",
		"ENABLEoverloadretargeting=no":            "is an option of later versions of the driver, and has no effect",
		"maxAdaptiveRetries=99999999999999999999": "want a number, 0 or more",
		"maxAdaptiveRetries=-1":                   "want a number, 0 or more",
		"adaptiveRetries=yes":                     "want true or false",
	} {
		_, err := connstring.ParseAndValidate("mongodb://example.com/?" + query)
		assert.ErrorContains(t, err, want)
	}
}
