package unified

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/spectest"
)

// clientBackpressureDirectories are the test folders of the specifications'
// revision of 2026-03-12 that TestUnifiedSpec does not run, because the revision
// that upstream is pinned to lacks them.
var clientBackpressureDirectories = []string{
	"client-backpressure/tests",
}

// TestClientBackpressureSpec runs the unified tests of the Client Backpressure
// specification. Each folder is one subtest, named like those of TestUnifiedSpec.
func TestClientBackpressureSpec(t *testing.T) {
	for _, directory := range clientBackpressureDirectories {
		t.Run(directory, func(t *testing.T) {
			runTestDirectory(t, spectest.Path(directory), false)
		})
	}
}
