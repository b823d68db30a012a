package layer_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/forktest"
	"mongofork/tools/fork/layer"
	"mongofork/tools/fork/plan"
)

// A layer with a folder of its own is taken out by removing the folder, with those that build on it. So each such layer fits on the layers
// without a folder, with those alone that it builds on. "make verify-layers" removes each, and compiles and tests what remains.
func TestEachLayerCanBeRemoved(t *testing.T) {
	t.Parallel()
	forktest.EachBase(t, func(t *testing.T, root string, p *plan.Plan) {
		laid := layer.On(p.Module)
		for i, l := range p.Overlay {
			layers := []*plan.Layer{l} // and those that it builds on
			for _, earlier := range slices.Backward(p.Overlay[:i]) {
				if slices.ContainsFunc(layers, func(later *plan.Layer) bool { return buildsOn(t, root, later, earlier) }) {
					layers = append([]*plan.Layer{earlier}, layers...)
				}
			}
			next, err := laid.Lay(layers...)
			require.NoError(t, err, l.Name)
			if !l.Below {
				laid = next
			}
		}
	})
}

// buildsOn reports whether a layer's README says that it builds on another.
func buildsOn(t *testing.T, root string, layer, other *plan.Layer) bool {
	if !layer.Below {
		return false
	}
	readme, err := os.ReadFile(filepath.Join(root, layer.Name, "README.md"))
	require.NoError(t, err)
	return strings.Contains(string(readme), "builds on "+other.Name+",")
}
