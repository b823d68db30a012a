package fork

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/forktest"
	"mongofork/tools/fork/plan"
)

// An empty overlay gives upstream's files, byte for byte, but for go.work.
func TestEmptyOverlay(t *testing.T) {
	t.Parallel()
	p := builtProject(t, filetree.Tree{})
	_, a, err := p.Assemble(t.Context())
	require.NoError(t, err)
	want := forktest.Versions(t)[forktest.Base]
	delete(want, "go.work")
	require.Equal(t, want, a)
}

func TestOverlayLinkIsRefused(t *testing.T) {
	t.Parallel()
	p := builtProject(t, filetree.Tree{})
	if err := os.Symlink("../conn/.keep", filepath.Join(p.Root, "pool", "link.txt")); err != nil {
		t.Skipf("this system has no symbolic links: %v", err)
	}
	require.EqualError(t, build(t, p),
		"pool/link.txt: the go command would leave it out: it is no regular file, a go.mod, or has a name that begins with _\n"+
			"  fix: rename it, put a copy in its place, or move it out of the overlay folders")
	p.put(t, plan.FoldersFile, "gone\n")
	require.ErrorContains(t, build(t, p), "folder gone of etc/overlay: stat gone: ")
}
