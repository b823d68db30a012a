//fork:base <v2.7.0

package unified

import (
	"path/filepath"
	"testing"
)

// TestOverloadSpec runs the unified tests of this project: cases of client backpressure that the specification's own
// tests do not cover.
func TestOverloadSpec(t *testing.T) {
	runTestDirectory(t, filepath.Join("..", "..", "..", "testdata", "spec"), false)
}
