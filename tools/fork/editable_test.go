package fork

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/filetree"
)

func TestEditable(t *testing.T) {
	t.Parallel()
	p := builtProject(t, filetree.Tree{
		"pool/plain.go": []byte("package pool\n\nfunc plain() {}\n"),
		"pool/rest.go":  []byte("// Package pool is one.\npackage pool\n\nfunc rest() {}\n\n//fork:remove taken nobody needs it\n"),
		"conn/data.txt": []byte("data"),
	})
	anew := func() { // after edits that are not wanted
		require.ErrorContains(t, build(t, p), "the folder has edits that this build lacks")
		require.NoError(t, os.RemoveAll(p.Folder(p.Base).Dir))
		require.NoError(t, build(t, p))
	}
	const plain = "build/v2.0.0/pool/plain.go"
	inPlace := func(name, text string) { // as an editor does that keeps the file
		require.NoError(t, os.WriteFile(filepath.Join(p.Root, filepath.FromSlash(name)), []byte(text), 0o600))
	}
	require.NoError(t, build(t, p))
	require.Equal(t, "// Package pool is one.\n"+
		"package pool // made from pool/rest.go: edit that file, then run \"make fork\"\n\nfunc rest() {}\n",
		p.read(t, "build/v2.0.0/pool/rest.go"))

	inPlace(plain, "package pool\n\nfunc edited() {}\n")
	inPlace("build/v2.0.0/conn/data.txt", "edited")
	require.Equal(t, "package pool\n\nfunc edited() {}\n", p.read(t, "pool/plain.go"))
	require.Equal(t, "edited", p.read(t, "conn/data.txt"))
	p.put(t, "pool/rest.go", "package pool\n\nfunc more() {}\n\n//fork:remove taken nobody needs it\n")
	require.NoError(t, build(t, p), "an edit of a link is one of the overlay")

	anHourAgo := func() {
		past := time.Now().Add(-time.Hour)
		require.NoError(t, os.Chtimes(filepath.Join(p.Root, "pool", "plain.go"), past, past))
	}
	inPlace("pool/plain.go", "package pool\n\nfunc committed() {}\n")
	anHourAgo()
	p.put(t, "pool/plain.go", "package pool\n\nfunc replaced() {}\n") // as git does: the build's file is another one from now on
	require.NoError(t, build(t, p))
	p.put(t, "pool/plain.go", "package pool\n\nfunc replaced() {} // again\n")
	anHourAgo()
	inPlace(plain, "package pool\n\nfunc late() {}\n")
	anew() // it was edited when it was no longer the source
	inPlace(plain, "package pool\n\nfunc again() {}\n")
	require.Equal(t, "package pool\n\nfunc again() {}\n", p.read(t, "pool/plain.go"))

	anHourAgo()
	p.put(t, plain, "package pool\n\nfunc lost() {}\n")
	anew()
	inPlace("build/v2.0.0/pool/rest.go", "package pool\n")
	anew()
}
