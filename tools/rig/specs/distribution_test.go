package specs

import (
	"context"
	"errors"
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
	const requirement = "pymongo==1 --hash=sha256:0"
	for want, tt := range map[string]struct {
		change func(r *Revision, theirs filetree.Tree)
		err    error
	}{
		"": {},
		"are not the pinned ones, or etc/specifications is not right": {
			change: func(_ *Revision, theirs filetree.Tree) { theirs["test/gridfs/b.json"] = []byte("B") }},
		"are not the pinned ones, or etc/specifications": {
			change: func(_ *Revision, theirs filetree.Tree) { delete(theirs, "test/gridfs/b.json") }},
		"are not the pinned ones, or": {change: func(r *Revision, _ filetree.Tree) { delete(r.Differs, "source/crud/tests/extra.json") }},
		"are not the pinned ones": {
			change: func(r *Revision, _ filetree.Tree) {
				r.Differs["source/crud/tests/gone.json"] = strings.Repeat("0", 64)
			}},
		"and those in pymongo==1": {err: pypi.ErrUnavailable},
		"another file than":       {err: errors.New("another file than the pinned one")},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			theirs := filetree.Tree{
				"test/crud/unified/a.json": []byte("a"), "test/gridfs/b.json": []byte("b"),
				"test/crud/unified/newer.json": []byte("of another revision"), "test/crud/extra.json": []byte("only there"),
				"other/crud/c.json": []byte("no test"), "test/gridfs/b.py": []byte("no data"),
			}
			s := newStore(t, revision, revision)
			var downloadErr error
			s.Download = func(_ context.Context, got string) ([]byte, error) {
				assert.Equal(t, requirement, got)
				return archive(t, theirs), downloadErr
			}
			r, err := s.Compare(t.Context(), "r1", requirement)
			require.NoError(t, err)
			require.Len(t, r.Differs, 4)
			if tt.change != nil {
				tt.change(&r, theirs)
			}
			downloadErr = tt.err
			s.Root, s.Repository, s.Pins = t.TempDir(), "none", map[string]Revision{"r1": r}
			p, err := s.Project(t.Context(), "r1")
			assert.Equal(t, errors.Is(tt.err, pypi.ErrUnavailable), errors.Is(err, pypi.ErrUnavailable))
			if want != "" {
				assert.ErrorContains(t, err, want)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, "2 of 5 files of the specifications' tests, from pymongo==1; not in it: auth 1, crud 2", p.Lacks)

			// The copy is used from then on, unless it was changed.
			downloadErr = pypi.ErrUnavailable
			again, err := s.Project(t.Context(), "r1")
			require.NoError(t, err)
			assert.Equal(t, p, again)
			for _, name := range []string{"source/gridfs/tests/b.json", "source/crud/tests/gone.json"} {
				require.NoError(t, filetree.Tree{name: []byte("B")}.Write(filepath.Join(p.Dir, data)))
				_, err = s.Project(t.Context(), "r1")
				assert.ErrorIs(t, err, pypi.ErrUnavailable)
				downloadErr = nil
				_, err = s.Project(t.Context(), "r1")
				require.NoError(t, err)
				downloadErr = pypi.ErrUnavailable
			}

			// Nor does a comparison with a copy that lacks files make sense.
			downloadErr = nil
			_, err = s.Compare(t.Context(), "r1", requirement)
			assert.ErrorContains(t, err, "not in it")
		})
	}
}
