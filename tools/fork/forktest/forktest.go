// Package forktest has what the tests of the builder's packages share: a made-up module, and repositories with an overlay.
package forktest

import (
	"bytes"
	"context"
	_ "embed"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/layer"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/upstream"
)

// Root puts files and an overlay of the folders pool and conn into a new repository.
func Root(t testing.TB, files filetree.Tree) string {
	t.Helper()
	root := t.TempDir()
	all := filetree.Tree{plan.FoldersFile: []byte("# folders\npool\nconn # new\n"), "pool/.keep": nil, "conn/.keep": nil}
	maps.Copy(all, files)
	require.NoError(t, all.Write(root))
	return root
}

// Plan makes such a repository, and matches it with the base. A lock is not needed for that.
func Plan(t testing.TB, files filetree.Tree) (root string, p *plan.Plan) {
	t.Helper()
	root = Root(t, files)
	m, err := upstream.New(Module, Base, Tree())
	require.NoError(t, err)
	return root, Match(t, root, m)
}

// Match matches the overlay of a repository with a module.
func Match(t testing.TB, root string, m *upstream.Module) *plan.Plan {
	t.Helper()
	o, err := plan.ReadOverlay(root, m)
	require.NoError(t, err)
	p, _, err := layer.Lay(m, o)
	require.NoError(t, err)
	return p
}

// EachBase runs a test with the repository's plan for each base.
func EachBase(t *testing.T, test func(t *testing.T, root string, p *plan.Plan)) {
	t.Helper()
	goMod, err := exec.Command("go", "env", "GOMOD").Output()
	require.NoError(t, err)
	root := filepath.Dir(string(goMod))
	locks, err := filepath.Glob(filepath.Join(root, "etc", "bases", "v*", "fork.lock"))
	require.NoError(t, err)
	require.NotEmpty(t, locks)
	for _, lock := range locks {
		base := filepath.Base(filepath.Dir(lock))
		t.Run(base, func(t *testing.T) {
			t.Parallel()
			test(t, root, Match(t, root, Released(t, base)))
		})
	}
}

// Released returns a version of the driver from the module cache. The test is skipped on machines that can neither read nor download
// it, except in CI.
func Released(t testing.TB, base string) *upstream.Module {
	t.Helper()
	m, err := upstream.Download(t.Context(), "go.mongodb.org/mongo-driver/v2", base)
	if err != nil && os.Getenv("CI") != "true" {
		t.Skipf("the driver's module is neither in the module cache nor can it be downloaded: %v", err)
	}
	require.NoError(t, err)
	return m
}

// The module that tests are about, and its base.
const (
	Module = "example.com/driver/v2"
	Base   = "v2.0.0"
)

//go:embed testdata/upstream.txtar
var madeUp []byte

func Tree() filetree.Tree {
	return files(txtar.Parse(bytes.Clone(madeUp)))
}

func files(archive *txtar.Archive) filetree.Tree {
	tree := filetree.Tree{}
	for _, f := range archive.Files {
		tree[f.Name] = f.Data
	}
	return tree
}

// Archive returns the files of an archive in the folder testdata.
func Archive(t testing.TB, name string) filetree.Tree {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return files(archive)
}

func Source(tree filetree.Tree) upstream.Source {
	return func(_ context.Context, path, version string) (*upstream.Module, error) {
		return upstream.New(path, version, tree)
	}
}
