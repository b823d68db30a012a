//fork:base >=v2.7.0

package unified

import (
	"os"
	"path/filepath"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/randutil"
	"go.mongodb.org/mongo-driver/v2/internal/require"
)

// TestOverloadSpec runs the unified tests of this project: cases of client backpressure that the specification's own
// tests do not cover. They are written for five retries, the limit of the specification's revision of 2026-03-12, and so run
// with maxAdaptiveRetries=5.
func TestOverloadSpec(t *testing.T) {
	defer randutil.SetJitterForTesting(func() float64 { return 0.1 })()

	files, err := filepath.Glob(filepath.Join("..", "..", "..", "testdata", "spec", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	dir := t.TempDir()
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(file)), withFiveRetries(t, text), 0o600))
	}
	runTestDirectory(t, dir, false)
}

// withFiveRetries returns the test file with maxAdaptiveRetries=5 for each client. The order of keys is kept: the first is
// what tells commands.
func withFiveRetries(t *testing.T, text []byte) []byte {
	t.Helper()

	var file bson.D
	require.NoError(t, bson.UnmarshalExtJSON(text, false, &file))
	clients := 0
	for _, entity := range member(file, "createEntities").(bson.A) {
		for i, kind := range entity.(bson.D) {
			if kind.Key == "client" {
				entity.(bson.D)[i].Value = withOption(
					kind.Value.(bson.D),
					bson.E{Key: "maxAdaptiveRetries", Value: int32(5)},
				)
				clients++
			}
		}
	}
	require.True(t, clients > 0, "no client found")
	out, err := bson.MarshalExtJSON(file, true, false)
	require.NoError(t, err)
	return out
}

func withOption(client bson.D, option bson.E) bson.D {
	for i, field := range client {
		if field.Key == "uriOptions" {
			client[i].Value = append(field.Value.(bson.D), option)
			return client
		}
	}
	return append(client, bson.E{Key: "uriOptions", Value: bson.D{option}})
}

func member(doc bson.D, key string) any {
	for _, field := range doc {
		if field.Key == key {
			return field.Value
		}
	}
	return bson.A{}
}
