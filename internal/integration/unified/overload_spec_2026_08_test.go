//fork:base >=v2.7.0

package unified

import (
	"path/filepath"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/randutil"
)

// TestOverloadSpec runs the unified tests of this project: cases of client backpressure that the specification's own
// tests do not cover.
func TestOverloadSpec(t *testing.T) {
	defer randutil.SetJitterForTesting(func() float64 { return 0.1 })()
	runTestDirectory(t, filepath.Join("..", "..", "..", "testdata", "spec"), false)
}
