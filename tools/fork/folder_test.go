package fork

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/filetree"
)

func testOutput(t *testing.T) Folder {
	return Folder{Dir: filepath.Join(t.TempDir(), "out")}
}

// requireTree checks the content of a folder and that nothing lies beside it
// but the manifest and the mutex.
func requireTree(t *testing.T, o Folder, want filetree.Tree) {
	t.Helper()
	got, err := filetree.Read(o.Dir)
	require.NoError(t, err)
	require.Equal(t, want, got)
	recorded, err := os.ReadFile(o.Dir + ".manifest")
	require.NoError(t, err)
	var lines []string
	for path, data := range want {
		lines = append(lines, written(path, data))
	}
	slices.Sort(lines)
	require.Equal(t, strings.Join(lines, "\n")+"\n", string(recorded))
	beside, err := os.ReadDir(filepath.Dir(o.Dir))
	require.NoError(t, err)
	var names []string
	for _, e := range beside {
		names = append(names, e.Name())
	}
	require.Equal(t, []string{"out", "out.manifest", "out.mutex"}, names)
}

var (
	oldTree = filetree.Tree{"a/one": []byte("1"), "a/in/two": []byte("2")}
	newTree = filetree.Tree{"a/one": []byte("1"), "b/three": []byte("3")}
)

// A folder becomes what it is to be, unless that would lose edits, or it is somebody else's.
func TestOutputWrite(t *testing.T) {
	t.Parallel()
	o := testOutput(t)
	for _, step := range []struct {
		tree    filetree.Tree
		changes bool
	}{{oldTree, true}, {oldTree, false}, {newTree, true}} {
		changed, err := o.Write(step.tree)
		require.NoError(t, err)
		require.Equal(t, step.changes, changed)
		requireTree(t, o, step.tree)
	}
	require.NoDirExists(t, filepath.Join(o.Dir, "a", "in"), "folders go with their last file")
	edited := filetree.Tree{"a/one": []byte("edited"), "b/three": []byte("3"), "notes": {}}
	require.NoError(t, edited.Write(o.Dir))
	_, err := o.Write(oldTree)
	require.ErrorContains(t, err, o.Dir+": the folder has edits that this build lacks, such as a/one")
	require.NoError(t, os.Remove(o.Dir+".manifest"))
	_, err = o.Write(oldTree)
	require.EqualError(t, err, o.Dir+": the folder was not made by mongofork: it has no manifest\n  fix: move it away")
	got, err := filetree.Read(o.Dir)
	require.NoError(t, err)
	require.Equal(t, edited, got, "a refused build changes nothing")
	if os.Symlink("elsewhere", filepath.Join(o.Dir, "link")) == nil {
		_, err = o.Write(newTree)
		require.ErrorContains(t, err, "link is not a regular file")
	}
	require.NoError(t, os.RemoveAll(o.Dir))
	_, err = o.Write(newTree)
	require.NoError(t, err)
	requireTree(t, o, newTree)
}

// Whatever was written before a run was cut short, the next one makes its output, whether the first or another one.
func TestOutputInterrupted(t *testing.T) {
	t.Parallel()
	for _, next := range []filetree.Tree{newTree, oldTree} {
		o := testOutput(t)
		_, err := o.Write(oldTree)
		require.NoError(t, err)
		require.NoError(t, os.Mkdir(filepath.Join(o.Dir, "b"), 0o755))
		require.NoError(t, os.Mkdir(filepath.Join(o.Dir, "b", "three"), 0o755), "in the way")
		_, err = o.Write(newTree)
		require.ErrorContains(t, err, "three")
		require.NoError(t, os.Remove(filepath.Join(o.Dir, "b", "three")))
		require.NoError(t, os.Remove(filepath.Join(o.Dir, "b")))
		_, err = o.Write(next)
		require.NoError(t, err)
		requireTree(t, o, next)
	}
}
