package specs

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/tools/command"
	"mongofork/tools/fork/filetree"
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
		assert.NotEmpty(t, s.Distributions[base.Fork].Requirement)
		assert.NotEmpty(t, s.Distributions[base.Upstream].Requirement)
	}
	for text, want := range map[string]string{
		"fork: r1\nupstream: r1\n": "",
		"fork: r1\n":               "want upstream and fork", "fork: r1\nupstream: r2\n": "want upstream and fork",
		"fork r1": "cannot unmarshal",
	} {
		root := t.TempDir()
		write(t, root, filetree.Tree{
			"etc/specifications": []byte("r1: {commit: c, hash: h}"), "etc/bases/v1/specifications": []byte(text), "etc/distributions": nil,
		})
		s, base, err := Open(root, "v1", io.Discard)
		if want != "" {
			assert.ErrorContains(t, err, want)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, Base{"r1", "r1"}, base)
		assert.Equal(t, map[string]Revision{"r1": {"c", "h"}}, s.Pins)
	}
}

const commit = "0123456789abcdef0123456789abcdef01234567"

// checkout is a made-up state of the specifications repository.
func checkout(content string) filetree.Tree {
	return filetree.Tree{
		"README.md": []byte("no test data"), "source/crud/schema.json": []byte("{}"),
		"source/crud/tests/unified/a.yml":  []byte("no JSON"),
		"source/crud/tests/unified/a.json": []byte(content), "source/gridfs/tests/b.json": []byte("{}"),
	}
}

func write(t *testing.T, dir string, files filetree.Tree) {
	t.Helper()
	require.NoError(t, files.Write(dir))
}

// publish makes a git repository of the files, and returns its commit.
func publish(t *testing.T, files filetree.Tree) (repository, commit string) {
	t.Helper()
	repository = t.TempDir()
	write(t, repository, files)
	for _, args := range [][]string{
		{"init", "--quiet"}, {"add", "."},
		{"-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "--quiet", "-m", "tests"}, {"rev-parse", "HEAD"},
	} {
		out, err := command.Output(t.Context(), repository, nil, "git", args...)
		require.NoError(t, err)
		commit = strings.TrimSpace(string(out))
	}
	return repository, commit
}

// newStore returns a store that pins the files as revision r1.
func newStore(t *testing.T, repository, commit string, files filetree.Tree) *Store {
	t.Helper()
	tests := filetree.Tree{}
	for name, text := range files {
		if wanted(name) {
			tests[name] = text
		}
	}
	hash, err := tests.Hash("")
	require.NoError(t, err)
	return &Store{
		Root: filepath.Join(t.TempDir(), "repository"), Pins: map[string]Revision{"r1": {commit, hash}}, Repository: repository,
		Progress: io.Discard,
	}
}

func TestDownload(t *testing.T) {
	t.Parallel()
	repository, published := publish(t, checkout("one"))
	for _, tt := range []struct {
		name, repository, commit, content, want string
		unavailable                             bool
	}{
		{"good", repository, published, "one", "", false},
		{"other content", repository, published, "two", "are not those of r1", false},
		{"no such commit", repository, commit, "one",
			"set SPECIFICATIONS to a clone of mongodb/specifications that has " + commit, true},
		{"no repository", t.TempDir(), published, "one", "set SPECIFICATIONS", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t, tt.repository, tt.commit, checkout(tt.content))
			var running sync.WaitGroup
			for range 3 { // suites side by side
				running.Go(func() { _, _ = s.Project(context.Background(), "r1") })
			}
			running.Wait()
			project, err := s.Project(t.Context(), "r1")
			if tt.want != "" {
				assert.ErrorContains(t, err, tt.want)
				assert.Equal(t, tt.unavailable, errors.Is(err, pypi.ErrUnavailable))
				return
			}
			require.NoError(t, err)
			source := filepath.Join(project.Dir, "testdata", "specifications", "source")
			assert.FileExists(t, filepath.Join(source, "crud", "tests", "unified", "a.json"))
			assert.NoFileExists(t, filepath.Join(source, "crud", "schema.json"))

			// The copy is used from then on, unless it was changed.
			s.Repository = filepath.Join(s.Root, "none")
			_, err = s.Project(t.Context(), "r1")
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(source, "gridfs", "tests", "b.json"), []byte("[]"), 0o600))
			_, err = s.Project(t.Context(), "r1")
			assert.ErrorIs(t, err, pypi.ErrUnavailable)
		})
	}
}
