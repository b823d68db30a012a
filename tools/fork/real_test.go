package fork

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/forktest"
	"mongofork/tools/fork/git"
	"mongofork/tools/fork/upstream"
)

const (
	realModulePath = "go.mongodb.org/mongo-driver/v2"
	realBase       = "v2.5.0"

	repositoryRoot = "../.."
)

// The patch makes upstream's tree the fork's. It may take ten seconds: git commits the whole driver twice, and applies the patch.
func TestRealPatch(t *testing.T) {
	t.Parallel()
	forktest.Released(t, realBase)
	p := &Project{Root: repositoryRoot, Module: realModulePath, Base: realBase, Source: upstream.Download}
	matched, tree, err := p.Assemble(t.Context())
	require.NoError(t, err)
	const author = "A Tester <tester@localhost>"
	patch, err := p.Patch(t.Context(), "Label sessions", author)
	require.NoError(t, err)
	require.Contains(t, string(patch), "\nFrom: A Tester <tester@localhost>\n")
	require.Contains(t, string(patch), "\nSubject: [PATCH] Label sessions\n")
	require.NotRegexp(t, `(?m)^\+.*//fork:`, string(patch), "a directive")

	g, done, err := git.New(t.Context(), author)
	require.NoError(t, err)
	t.Cleanup(done)
	pristine := assemble.Pristine(matched.Module)
	g.Commit(pristine, "upstream")
	file := filepath.Join(t.TempDir(), "fork.patch")
	require.NoError(t, os.WriteFile(file, patch, 0o644))
	g.Run("am", "--quiet", file)
	require.NoError(t, g.Err)
	require.NoError(t, os.RemoveAll(filepath.Join(g.Dir, ".git")))
	applied, err := filetree.Read(g.Dir)
	require.NoError(t, err)
	want := assemble.Headed(pristine, assemble.Noticed(pristine, tree))
	require.NoError(t, assemble.Format(matched.Module, want))
	require.Empty(t, filetree.Changed(want, applied))
}
