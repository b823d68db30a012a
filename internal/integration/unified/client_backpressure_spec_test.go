//fork:base <v2.10.0

package unified

import (
	"os"
	"path"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/spectest"
)

// backpressureSpecs are the unified tests about client backpressure in the specifications' revision of 2026-03-12, by
// folder; no files stand for all. TestUnifiedSpec does not run them: the revision that its files are of lacks most, and
// its list skips the others.
var backpressureSpecs = []struct {
	directory string
	files     []string
}{
	{directory: "client-backpressure/tests"},
	{directory: "server-discovery-and-monitoring/tests/unified", files: []string{
		"backpressure-network-error-fail-replicaset.json",
		"backpressure-network-error-fail-single.json",
		"backpressure-network-timeout-fail-replicaset.json",
		"backpressure-network-timeout-fail-single.json",
		"backpressure-server-description-unchanged-on-min-pool-size-population-error.json",
	}},
	{directory: "transactions/tests/unified", files: []string{
		"backpressure-retryable-abort.json",
		"backpressure-retryable-commit.json",
		"backpressure-retryable-reads.json",
		"backpressure-retryable-writes.json",
	}},
}

// TestClientBackpressureSpec names its subtests as TestUnifiedSpec does, by folder and file.
func TestClientBackpressureSpec(t *testing.T) {
	for _, spec := range backpressureSpecs {
		directory, files := spectest.Path(spec.directory), spec.files
		t.Run(spec.directory, func(t *testing.T) {
			if files == nil {
				skipIfLacking(t, directory)
				runTestDirectory(t, directory, false)
			}
			for _, file := range files {
				file := path.Join(directory, file)
				t.Run(path.Base(file), func(t *testing.T) {
					skipIfLacking(t, file)
					runTestFile(t, file, false)
				})
			}
		})
	}
}

// skipIfLacking skips a test whose files the source of the specifications' tests does not have, as whoever provides them says.
func skipIfLacking(t *testing.T, name string) {
	t.Helper()
	if _, err := os.Stat(name); os.IsNotExist(err) && os.Getenv("SPECIFICATIONS_INCOMPLETE") != "" {
		t.Skip("not in the source of the specifications' tests")
	}
}
