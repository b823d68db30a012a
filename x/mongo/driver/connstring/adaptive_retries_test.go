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

// TestAdaptiveRetriesSpec runs the specification's own cases. They are part of its revision of 2026-03-12.
func TestAdaptiveRetriesSpec(t *testing.T) {
	content, err := os.ReadFile(spectest.Path("uri-options/tests/client-backpressure-options.json"))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("the specification tests are not at hand: set PROJECT_DIRECTORY to a folder that has them below testdata/specifications")
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
		test := test
		t.Run(test.Description, func(t *testing.T) {
			got, err := connstring.ParseAndValidate(test.URI)
			if test.Warning {
				// The driver has no warnings: options that it knows are valid or an error.
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			assert.True(t, got.AdaptiveRetriesSet)
			assert.Equal(t, test.Options.AdaptiveRetries, got.AdaptiveRetries)
		})
	}
}
