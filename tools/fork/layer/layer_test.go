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

// A layer with a folder of its own is taken out by removing the folder, with those that build on it: the others still fit.
// "make verify-layers" compiles and tests what remains.
func TestEachLayerCanBeRemoved(t *testing.T) {
	t.Parallel()
	forktest.EachBase(t, func(t *testing.T, root string, p *plan.Plan) {
		layers, err := plan.ReadLayers(root)
		require.NoError(t, err)
		laid := layer.On(p.Module) // with the layers before the one that is removed
		for i, removed := range layers {
			if removed.Below && !removed.Alone { // what is not laid cannot be taken out
				_, problems, err := laid.Lay(some(p.Overlay, func(layer int) bool {
					return layer > i && !buildsOn(t, root, layers[layer], removed)
				}))
				require.NoError(t, err, removed.Name)
				require.NoError(t, problems.OrNil(), removed.Name)
			}
			next, problems, err := laid.Lay(some(p.Overlay, func(layer int) bool { return layer == i }))
			require.NoError(t, err)
			require.NoError(t, problems.OrNil(), removed.Name)
			laid = next
		}
	})
}

// some returns some layers of an overlay.
func some(o *plan.Overlay, has func(layer int) bool) *plan.Overlay {
	return &plan.Overlay{
		Files: slices.DeleteFunc(slices.Clone(o.Files), func(f *plan.File) bool { return !has(f.Layer) }),
		Edits: slices.DeleteFunc(slices.Clone(o.Edits), func(e plan.Edit) bool { return !has(e.Layer) }),
	}
}

// buildsOn reports whether a layer's README says that it builds on another.
func buildsOn(t *testing.T, root string, layer, other plan.Layer) bool {
	if !layer.Below {
		return false
	}
	readme, err := os.ReadFile(filepath.Join(root, layer.Name, "README.md"))
	require.NoError(t, err)
	return strings.Contains(string(readme), "builds on "+other.Name+",")
}
