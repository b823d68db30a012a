package fork

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/forktest"
	"mongofork/tools/fork/plan"
)

const repositoryRoot = "../.."

var update = flag.Bool("update", false, "write the expected results in testdata anew; review them afterwards")

// newProject makes a repository with the given files and an overlay of the
// folders pool and conn.
func newProject(t testing.TB, files filetree.Tree) *Project {
	t.Helper()
	return &Project{Root: forktest.Root(t, files), Module: forktest.Module, Base: forktest.Base, Source: forktest.Source(forktest.Tree())}
}

// acceptMatched locks whatever the overlay's directives did match, so that a test about another problem sees only that one.
func acceptMatched(t testing.TB, p *Project) {
	t.Helper()
	matched, _, _, err := p.match(t.Context(), &plan.Lock{Module: forktest.Module + " " + p.Base})
	require.NoError(t, err)
	lock, err := plan.NewLock(matched)
	require.NoError(t, err)
	text, err := lock.Format()
	require.NoError(t, err)
	p.put(t, p.LockFile(), string(text))
}

// builtProject makes a repository and locks its overlay.
func builtProject(t testing.TB, files filetree.Tree) *Project {
	t.Helper()
	p := newProject(t, files)
	_, err := p.Accept(t.Context())
	require.NoError(t, err)
	return p
}

// build builds the project into its folder.
func build(t testing.TB, p *Project) error {
	_, _, _, err := p.Build(t.Context())
	return err
}

// write puts a file into the repository.
func (p *Project) put(t testing.TB, name, text string) {
	t.Helper()
	require.NoError(t, filetree.Replace(filepath.Join(p.Root, filepath.FromSlash(name)), []byte(text)))
}

// read returns a file of the repository.
func (p *Project) read(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(p.Root, filepath.FromSlash(name)))
	require.NoError(t, err)
	return string(data)
}

// overlayOf makes the file set of a repository with one file pool/overlay.go.
func overlayOf(code string) filetree.Tree {
	return filetree.Tree{"pool/overlay.go": []byte("package pool\n\n" + code)}
}
