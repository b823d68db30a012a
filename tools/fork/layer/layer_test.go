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
		laid := layer.On(p.Module) // with the layers before the one that is removed
		for i, removed := range p.Overlay {
			if removed.Below {
				rest := slices.DeleteFunc(slices.Clone(p.Overlay[i+1:]), func(l *plan.Layer) bool { return buildsOn(t, root, l, removed) })
				_, err := laid.Lay(rest...)
				require.NoError(t, err, removed.Name)
			}
			next, err := laid.Lay(removed)
			require.NoError(t, err, removed.Name)
			laid = next
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
