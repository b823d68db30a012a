package forktest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/command"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/git"
	"mongofork/tools/fork/upstream"
)

// WorkTree makes a git work tree with the given files, all committed.
func WorkTree(t testing.TB, files filetree.Tree) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "driver")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, files.Write(dir))
	Git(t, dir, "init", "--quiet")
	Commit(t, dir)
	return dir
}

// Git runs a git command in a work tree.
func Git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	g := git.At(t.Context(), command.Output, dir, "A Tester", "tester@localhost")
	out := g.Run(args...)
	require.NoError(t, g.Err)
	return string(out)
}

// Commit commits all files of a work tree.
func Commit(t testing.TB, dir string) {
	t.Helper()
	Git(t, dir, "add", "--all", "--force", ".")
	Git(t, dir, "commit", "--quiet", "--allow-empty", "--message", "a commit")
}

// OpenCheckout opens a work tree; the made-up module's versions are the released ones.
func OpenCheckout(t testing.TB, dir string) *upstream.Checkout {
	t.Helper()
	c, err := upstream.OpenCheckout(t.Context(), command.Output, dir, Versions(t))
	require.NoError(t, err)
	return c
}
