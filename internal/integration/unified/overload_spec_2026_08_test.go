//fork:base >=v2.7.0

package unified

import (
	"path/filepath"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/randutil"
)

// TestOverloadSpec runs this project's unified tests, of cases that those of the specification do not cover.
func TestOverloadSpec(t *testing.T) {
	defer randutil.SetJitterForTesting(func() float64 { return 0.1 })()
	runTestDirectory(t, filepath.Join("..", "..", "..", "testdata", "spec"), false)
}
