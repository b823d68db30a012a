package specs

import (
	"context"
	"errors"
	"maps"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/rig/pypi"
)

// archive is a distribution with these files.
func archive(t *testing.T, files filetree.Tree) []byte {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, files.Write(filepath.Join(folder, "pymongo-1")))
	text, err := exec.Command("tar", "-czf", "-", "-C", folder, "pymongo-1").Output()
	require.NoError(t, err)
	return text
}

func TestPlace(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"crud/unified/find.json":                                "source/crud/tests/unified/find.json",
		"retryable_reads/unified/find.json":                     "source/retryable-reads/tests/unified/find.json",
		"csot/deprecated-options.json":                          "source/client-side-operations-timeout/tests/deprecated-options.json",
		"client-side-encryption/spec/legacy/a_b.json":           "source/client-side-encryption/tests/legacy/a_b.json",
		"server_selection/server_selection/Sharded/read/X.json": "source/server-selection/tests/server_selection/Sharded/read/X.json",
		"client-side-encryption/corpus/corpus.json":             "",
		"crud/unified/find.yml":                                 "",
		"alone.json":                                            "",
	} {
		assert.Equal(t, want, place(name), name)
	}
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
