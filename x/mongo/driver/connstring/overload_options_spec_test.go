//fork:base <v2.7.0

package connstring_test

import (
	"errors"
	"os"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/spectest"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"
)

// TestAdaptiveRetriesSpec runs the specification's own cases. They are part of its revision of 2026-03-12.
func TestAdaptiveRetriesSpec(t *testing.T) {
	content, err := os.ReadFile(spectest.Path("uri-options/tests/client-backpressure-options.json"))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("the specification tests are not at hand: set PROJECT_DIRECTORY to a folder with testdata/specifications")
	}
	require.NoError(t, err)
	var file struct {
		Tests []struct {
			Description, URI string
			Warning          bool
			Options          struct {
				AdaptiveRetries bool `bson:"adaptiveRetries"`
			}
		}
	}
	require.NoError(t, bson.UnmarshalExtJSON(content, false, &file))
	require.NotEmpty(t, file.Tests)

	for _, test := range file.Tests {
		got, err := connstring.ParseAndValidate(test.URI)
		// The driver has no warnings: options that it knows are valid or an error.
		require.Equal(t, test.Warning, err != nil, "%s: %v", test.Description, err)
		if !test.Warning {
			assert.True(t, got.AdaptiveRetriesSet, test.Description)
			assert.Equal(t, test.Options.AdaptiveRetries, got.AdaptiveRetries, test.Description)
		}
	}
}

// An option of later versions that would be ignored is an error, and an invalid value says which are valid.
func TestOverloadOptionsThatHaveNoEffect(t *testing.T) {
	for query, want := range map[string]string{
		"enableOverloadRetargeting=true":          "is an option of later versions of the driver, and has no effect",
		"ENABLEoverloadretargeting=no":            "is an option of later versions of the driver, and has no effect",
		"maxAdaptiveRetries=99999999999999999999": "want a number, 0 or more",
		"adaptiveRetries=yes":                     "want true or false",
	} {
		_, err := connstring.ParseAndValidate("mongodb://example.com/?" + query)
		assert.ErrorContains(t, err, want)
	}
}
