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

// A layer with a folder of its own is taken out by removing the folder, with those that build on it: the others still fit. "make layers"
// compiles and tests what remains.
func TestEachLayerCanBeRemoved(t *testing.T) {
	t.Parallel()
	forktest.EachBase(t, func(t *testing.T, root string, p *plan.Plan) {
		layers, err := plan.ReadLayers(root)
		require.NoError(t, err)
		for i, removed := range layers {
			if !removed.Below || removed.Alone { // what is not laid cannot be taken out
				continue
			}
			goes := func(layer int) bool { return layer == i || buildsOn(t, root, layers[layer], removed) }
			rest := &plan.Overlay{
				Files: slices.DeleteFunc(slices.Clone(p.Overlay.Files), func(f *plan.File) bool { return goes(f.Layer) }),
				Edits: slices.DeleteFunc(slices.Clone(p.Overlay.Edits), func(e plan.Edit) bool { return goes(e.Layer) }),
			}
			_, _, problems, err := layer.Lay(p.Module, rest)
			require.NoError(t, err, removed.Name)
			require.NoError(t, problems.OrNil(), removed.Name)
		}
	})
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
