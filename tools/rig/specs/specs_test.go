package specs

import (
	"context"
	"io"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/git"
	"mongofork/tools/rig/pypi"
)

// TestOpen is about the repository's own files: a base without them can be built, but not tested; without a distribution, not where
// GitHub is out of reach.
func TestOpen(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	locks, err := filepath.Glob(filepath.Join(root, "etc", "bases", "*", "fork.lock"))
	require.NoError(t, err)
	require.NotEmpty(t, locks)
	for _, lock := range locks {
		s, base, err := Open(root, filepath.Base(filepath.Dir(lock)), io.Discard)
		assert.NoError(t, err)
		assert.NotEmpty(t, s.Pins[base.Fork].Requirement)
		assert.NotEmpty(t, s.Pins[base.Upstream].Requirement)
	}
	for text, want := range map[string]string{
		"fork: r1\nupstream: r1\n": "",
		"fork: r1\n":               "want upstream and fork", "fork: r1\nupstream: r2\n": "want upstream and fork",
		"fork r1": "cannot unmarshal",
	} {
		root := t.TempDir()
		require.NoError(t, filetree.Tree{
			"etc/specifications": []byte("r1: {commit: c, hash: h}"), "etc/bases/v1/specifications": []byte(text),
		}.Write(root))
		s, base, err := Open(root, "v1", io.Discard)
		if want != "" {
			assert.ErrorContains(t, err, want)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, Base{"r1", "r1"}, base)
		assert.Equal(t, map[string]Revision{"r1": {Commit: "c", Hash: "h"}}, s.Pins)
	}
}

// newStore returns a store whose repository has some files, and that pins others as revision r1.
func newStore(t *testing.T, published, pinned filetree.Tree) *Store {
	t.Helper()
	g, done, err := git.New(t.Context(), git.Builder)
	require.NoError(t, err)
	t.Cleanup(done)
	g.Commit(published, "tests")
	commit := strings.TrimSpace(string(g.Run("rev-parse", "HEAD")))
	require.NoError(t, g.Err)
	hash, err := pinned.Hash("")
	require.NoError(t, err)
	return &Store{Root: t.TempDir(), Pins: map[string]Revision{"r1": {Commit: commit, Hash: hash}}, Repository: g.Dir, Progress: io.Discard}
}

func TestDownload(t *testing.T) {
	t.Parallel()
	tests := filetree.Tree{"source/crud/tests/unified/a.json": []byte("one"), "source/gridfs/tests/b.json": []byte("{}")}
	checkout := filetree.Tree{"README.md": nil, "source/crud/schema.json": []byte("{}"), "source/crud/tests/unified/a.yml": []byte("no JSON")}
	maps.Copy(checkout, tests)
	s := newStore(t, checkout, tests)
	var running sync.WaitGroup
	for range 3 { // suites side by side
		running.Go(func() { _, _ = s.Project(context.Background(), "r1") })
	}
	running.Wait()
	project, err := s.Project(t.Context(), "r1")
	require.NoError(t, err)
	found, err := filetree.Read(filepath.Join(project.Dir, "testdata", "specifications"))
	require.NoError(t, err)
	assert.Equal(t, tests, found)

	// The copy is used from then on, unless it was changed.
	commit := s.Pins["r1"].Commit
	s.Repository = filepath.Join(s.Root, "none")
	_, err = s.Project(t.Context(), "r1")
	require.NoError(t, err)
	require.NoError(t, filetree.Tree{"source/gridfs/tests/b.json": []byte("[]")}.Write(filepath.Join(project.Dir, data)))
	_, err = s.Project(t.Context(), "r1")
	assert.ErrorIs(t, err, pypi.ErrUnavailable)
	assert.ErrorContains(t, err, "set SPECIFICATIONS to a clone of mongodb/specifications that has "+commit)
	assert.NoDirExists(t, project.Dir)

	_, err = s.Project(t.Context(), "../..")
	assert.EqualError(t, err, `etc/specifications has no revision "../.."`)
	assert.DirExists(t, s.Root)

	_, err = newStore(t, filetree.Tree{"source/crud/tests/unified/a.json": []byte("two")}, tests).Project(t.Context(), "r1")
	assert.ErrorContains(t, err, "are not the pinned ones")
}
