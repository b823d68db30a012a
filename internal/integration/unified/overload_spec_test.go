//fork:base <v2.7.0

package unified

import (
	"path/filepath"
	"testing"
)

// TestOverloadSpec runs this project's unified tests, of cases that those of the specification do not cover.
func TestOverloadSpec(t *testing.T) {
	runTestDirectory(t, filepath.Join("..", "..", "..", "testdata", "spec"), false)
}
