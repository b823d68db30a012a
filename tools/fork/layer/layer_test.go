package layer_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/forktest"
	"mongofork/tools/fork/layer"
	"mongofork/tools/fork/plan"
)

// A layer with a folder of its own is taken out by removing the folder: the others still fit. "make layers" compiles and tests what
// remains.
func TestEachLayerCanBeRemoved(t *testing.T) {
	t.Parallel()
	forktest.EachBase(t, func(t *testing.T, root string, p *plan.Plan) {
		layers, err := plan.ReadLayers(root)
		require.NoError(t, err)
		for i, removed := range layers {
			if !removed.Below || removed.Alone { // what is not laid cannot be taken out
				continue
			}
			rest := &plan.Overlay{
				Files: slices.DeleteFunc(slices.Clone(p.Overlay.Files), func(f *plan.File) bool { return f.Layer == i }),
				Edits: slices.DeleteFunc(slices.Clone(p.Overlay.Edits), func(e plan.Edit) bool { return e.Layer == i }),
			}
			_, _, problems, err := layer.Lay(p.Module, rest)
			require.NoError(t, err, removed.Name)
			require.NoError(t, problems.OrNil(), removed.Name)
		}
	})
}
