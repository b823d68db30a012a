package fork

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/filetree"
)

// A folder becomes what it is to be, unless that would lose edits, or it is somebody else's. What an interrupted run has left is completed.
func TestFolder(t *testing.T) {
	t.Parallel()
	o := Folder{Dir: filepath.Join(t.TempDir(), "out")}
	older := filetree.Tree{"a/one": []byte("1"), "a/in/two": []byte("2")}
	newer := filetree.Tree{"a/one": []byte("1"), "b/three": []byte("3")}
	requireFiles := func(want filetree.Tree) {
		got, err := filetree.Read(o.Dir)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for i, tree := range []filetree.Tree{older, older, newer} {
		changed, err := o.Write(tree)
		require.NoError(t, err)
		require.Equal(t, i != 1, changed)
		requireFiles(tree)
	}
	require.NoDirExists(t, filepath.Join(o.Dir, "a", "in"), "folders go with their last file")
	inTheWay := filepath.Join(o.Dir, "a", "in", "two")
	require.NoError(t, os.MkdirAll(inTheWay, 0o755))
	_, err := o.Write(older)
	require.ErrorContains(t, err, "two")
	require.NoError(t, os.Remove(inTheWay))
	_, err = o.Write(older)
	require.NoError(t, err)
	requireFiles(older)

	edited := filetree.Tree{"a/one": []byte("edited"), "a/in/two": []byte("2"), "notes": {}}
	require.NoError(t, edited.Write(o.Dir))
	_, err = o.Write(newer)
	require.ErrorContains(t, err, o.Dir+": the folder has edits that this build lacks, such as a/one")
	require.NoError(t, os.Remove(o.Dir+".manifest"))
	_, err = o.Write(newer)
	require.EqualError(t, err, o.Dir+": the folder was not made by mongofork: it has no manifest\n  fix: move it away")
	requireFiles(edited)
}

// Files that are the same in the fork are links, and an edit of one edits both; an edit of any other file of the build is not written over.
func TestEditable(t *testing.T) {
	t.Parallel()
	p := builtProject(t, filetree.Tree{
		"pool/plain.go": []byte("package pool\n\nfunc plain() {}\n"),
		"pool/rest.go":  []byte("// Package pool is one.\npackage pool\n\nfunc rest() {}\n\n//fork:remove taken nobody needs it\n"),
	})
	const plain, rest = "build/v2.0.0/pool/plain.go", "build/v2.0.0/pool/rest.go"
	anew := func() { // after edits that are not wanted
		require.ErrorContains(t, build(t, p), "the folder has edits that this build lacks")
		require.NoError(t, os.RemoveAll(p.Folder(p.Base).Dir))
		require.NoError(t, build(t, p))
	}
	inPlace := func(name, text string) { // as an editor does that keeps the file
		require.NoError(t, os.WriteFile(filepath.Join(p.Root, filepath.FromSlash(name)), []byte(text), 0o600))
	}
	anHourAgo := func() {
		past := time.Now().Add(-time.Hour)
		require.NoError(t, os.Chtimes(filepath.Join(p.Root, "pool", "plain.go"), past, past))
	}
	require.NoError(t, build(t, p))
	require.Equal(t, "// Package pool is one.\n"+
		"package pool // made from pool/rest.go: edit that file, then run \"make fork\"\n\nfunc rest() {}\n", p.read(t, rest))
	inPlace(plain, "package pool\n\nfunc edited() {}\n")
	require.Equal(t, "package pool\n\nfunc edited() {}\n", p.read(t, "pool/plain.go"))
	require.NoError(t, build(t, p), "an edit of a link is one of the overlay")

	anHourAgo()
	p.put(t, "pool/plain.go", "package pool\n\nfunc replaced() {}\n") // as git does: the build's file is another one from now on
	require.NoError(t, build(t, p))
	p.put(t, "pool/plain.go", "package pool\n\nfunc replaced() {} // again\n")
	anHourAgo()
	inPlace(plain, "package pool\n\nfunc late() {}\n")
	anew() // it was edited when it was no longer the source
	p.put(t, plain, "package pool\n\nfunc lost() {}\n")
	anHourAgo()
	anew()
	inPlace(rest, "package pool\n")
	anew()
}
