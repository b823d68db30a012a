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

// A layer with a folder of its own is taken out by removing the folder, with those that build on it: what remains fits, since each such
// layer fits on the layers without a folder alone, with those that it builds on. "make verify-layers" compiles and tests what remains.
func TestEachLayerCanBeRemoved(t *testing.T) {
	t.Parallel()
	forktest.EachBase(t, func(t *testing.T, root string, p *plan.Plan) {
		laid := layer.On(p.Module)
		for i, l := range p.Overlay {
			needed := slices.DeleteFunc(slices.Clone(p.Overlay[:i]), func(other *plan.Layer) bool { return !buildsOn(t, root, l, other) })
			next, err := laid.Lay(append(needed, l)...)
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
