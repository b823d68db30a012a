package specs

import (
	"context"
	"errors"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

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
	root = t.TempDir()
	require.NoError(t, filetree.Tree{
		"etc/specifications": []byte("r1: {commit: c, hash: h}"), "etc/bases/v1/specifications": []byte("fork: r1\nupstream: r2\n"),
	}.Write(root))
	_, _, err = Open(root, "v1", io.Discard)
	assert.ErrorContains(t, err, "want upstream and fork")
}

// newStore returns a store whose repository has some files, and that pins others as revision r1.
func newStore(t *testing.T, published, pinned filetree.Tree) *Store {
	t.Helper()
	g, done := git.New(t.Context(), git.Builder, time.Time{})
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

// archive is a distribution with these files.
func archive(t *testing.T, files filetree.Tree) []byte {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, files.Write(filepath.Join(folder, "pymongo-1")))
	text, err := exec.Command("tar", "-czf", "-", "-C", folder, "pymongo-1").Output()
	require.NoError(t, err)
	return text
}

// TestDistribution takes what a distribution has of a revision where the repository is out of reach. Each change is refused: of a file that
// the distribution has, of the hash of one that it lacks, of what is listed.
func TestDistribution(t *testing.T) {
	t.Parallel()
	revision := filetree.Tree{
		"source/crud/tests/unified/a.json": []byte("a"), "source/gridfs/tests/b.json": []byte("b"),
		"source/crud/tests/unified/newer.json": []byte("of the revision"), "source/crud/tests/gone.json": []byte("in none"),
		"source/auth/tests/gone.json": []byte("in none"),
	}
	theirs := filetree.Tree{
		"test/crud/unified/a.json": []byte("a"), "test/gridfs/b.json": []byte("b"),
		"test/crud/unified/newer.json": []byte("of another revision"), "test/crud/extra.json": []byte("only there"),
		"other/crud/c.json": []byte("no test"), "test/gridfs/b.py": []byte("no data"),
	}
	const requirement = "pymongo==1 --hash=sha256:0"
	var downloadErr error
	s := newStore(t, revision, revision)
	s.Download = func(_ context.Context, got string) ([]byte, error) {
		assert.Equal(t, requirement, got)
		return archive(t, theirs), downloadErr
	}
	known := s.Pins["r1"]
	known.Requirement, known.Differs = requirement, map[string]string{"source/crud/tests/extra.json": ""}
	for _, name := range []string{"source/crud/tests/unified/newer.json", "source/crud/tests/gone.json", "source/auth/tests/gone.json"} {
		known.Differs[name] = filetree.Digest(revision[name])
	}
	s.Repository, s.Pins["r1"] = "none", known
	project := func() (Project, error) { return s.Project(t.Context(), "r1") }

	for name, change := range map[string]func(r *Revision){
		"test/gridfs/b.json": func(*Revision) { theirs["test/gridfs/b.json"] = []byte("B") },
		"test/crud/a.json":   func(*Revision) { delete(theirs, "test/crud/unified/a.json") },
		"surplus":            func(r *Revision) { delete(r.Differs, "source/crud/tests/extra.json") },
		"lacking":            func(r *Revision) { r.Differs["source/crud/tests/gone.json"] = strings.Repeat("0", 64) },
	} {
		before, changed := maps.Clone(theirs), known
		changed.Differs = maps.Clone(known.Differs)
		change(&changed)
		s.Pins["r1"] = changed
		_, err := project()
		assert.ErrorContains(t, err, "are not the pinned ones, or etc/specifications is not right", name)
		theirs, s.Pins["r1"] = before, known
	}
	downloadErr = errors.New("another file than the pinned one")
	_, err := project()
	assert.ErrorIs(t, err, downloadErr)
	assert.NotErrorIs(t, err, pypi.ErrUnavailable)

	// A copy is used until it is changed.
	for _, name := range []string{"source/gridfs/tests/b.json", "source/crud/tests/gone.json"} {
		downloadErr = nil
		p, err := project()
		require.NoError(t, err)
		assert.Equal(t, "2 of 5 files of the specifications' tests, from pymongo==1; not in it: auth 1, crud 2", p.Lacks)
		downloadErr = pypi.ErrUnavailable
		again, err := project()
		require.NoError(t, err)
		assert.Equal(t, p, again)
		require.NoError(t, filetree.Tree{name: []byte("B")}.Write(filepath.Join(p.Dir, data)))
		_, err = project()
		assert.ErrorIs(t, err, pypi.ErrUnavailable)
		assert.ErrorContains(t, err, "and those in pymongo==1")
	}
}
