package specs

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/dirhash"

	"mongofork/tools/command"
)

// TestEveryBase is about the repository's own files: a base without them can be built, but not tested.
func TestEveryBase(t *testing.T) {
	t.Parallel()
	etc := filepath.Join("..", "..", "..", "etc")
	pins, err := ReadPins(filepath.Join(etc, "specifications"))
	require.NoError(t, err)
	locks, err := filepath.Glob(filepath.Join(etc, "bases", "*", "fork.lock"))
	require.NoError(t, err)
	require.NotEmpty(t, locks)
	for _, lock := range locks {
		_, err := ReadBase(filepath.Join(filepath.Dir(lock), "specifications"), pins)
		assert.NoError(t, err)
	}
}

const commit = "0123456789abcdef0123456789abcdef01234567"

func TestReadPinsAndBase(t *testing.T) {
	t.Parallel()
	write := func(text string) string {
		file := filepath.Join(t.TempDir(), "file")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		return file
	}
	hash := "h1:" + strings.Repeat("A", 43) + "="
	line := "r1 " + commit + " " + hash + "\n"
	pins, err := ReadPins(write("# comment\n\n" + line))
	require.NoError(t, err)
	assert.Equal(t, map[string]Revision{"r1": {"r1", commit, hash}}, pins)
	_, err = ReadPins(write("r1 " + commit))
	assert.ErrorContains(t, err, "want lines of a name")
	base, err := ReadBase(write("# comment\n\nfork r1\nupstream   r1\n"), pins)
	require.NoError(t, err)
	assert.Equal(t, Base{"r1", "r1"}, base)
	for _, text := range []string{"", "fork r1\n", "fork r1\nother r1\n", "fork r1\nupstream r2\n", "fork r1\nupstream r1\nmore r1\n"} {
		_, err := ReadBase(write(text), pins)
		assert.ErrorContains(t, err, "want the lines", text)
	}
}

// checkout is a made-up state of the specifications repository.
func checkout(content string) map[string]string {
	return map[string]string{
		"README.md": "no test data", "source/crud/schema.json": "{}", "source/crud/tests/unified/a.yml": "no JSON",
		"source/crud/tests/unified/a.json": content, "source/gridfs/tests/b.json": "{}",
	}
}

// pin returns the revision that the files are pinned as.
func pin(t *testing.T, name, commit string, files map[string]string) map[string]Revision {
	t.Helper()
	names := slices.DeleteFunc(slices.Collect(maps.Keys(files)), func(name string) bool { return !wanted(name) })
	hash, err := dirhash.Hash1(names, func(name string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(files[name])), nil
	})
	require.NoError(t, err)
	return map[string]Revision{name: {name, commit, hash}}
}

func write(t *testing.T, files map[string]string, dir string) {
	t.Helper()
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
}

// publish makes a git repository of the files, and returns its commit.
func publish(t *testing.T, files map[string]string) (repository, commit string) {
	t.Helper()
	repository = t.TempDir()
	write(t, files, repository)
	for _, args := range [][]string{
		{"init", "--quiet"}, {"config", "uploadpack.allowAnySHA1InWant", "true"}, {"add", "."},
		{"-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "--quiet", "-m", "tests"}, {"rev-parse", "HEAD"},
	} {
		out, err := command.Output(t.Context(), repository, nil, "git", args...)
		require.NoError(t, err)
		commit = strings.TrimSpace(string(out))
	}
	return repository, commit
}

func newStore(t *testing.T, repository string, pins map[string]Revision) *Store {
	return &Store{
		Root: filepath.Join(t.TempDir(), "repository"), Pins: pins, Repository: repository, Run: command.Output,
		Progress: io.Discard,
	}
}

// TestProjectSideBySide is about suites that want the same revision at once, in a new checkout.
func TestProjectSideBySide(t *testing.T) {
	t.Parallel()
	files := checkout("one")
	repository, published := publish(t, files)
	store := newStore(t, repository, pin(t, "r1", published, files))
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			_, err := store.Project(context.Background(), "r1")
			assert.NoError(t, err)
		})
	}
	running.Wait()
}

func TestDownload(t *testing.T) {
	t.Parallel()
	files := checkout("one")
	repository, published := publish(t, files)
	for _, tt := range []struct {
		name        string
		repository  string
		pins        map[string]Revision
		want        string
		unavailable bool
	}{
		{"good", repository, pin(t, "r1", published, files), "", false},
		{"other content", repository, pin(t, "r1", published, checkout("two")), "are not the pinned ones", false},
		{"no such commit", repository, pin(t, "r1", commit, files),
			"set SPECIFICATIONS to a checkout of mongodb/specifications at " + commit, true},
		{"no repository", t.TempDir(), pin(t, "r1", published, files), "set SPECIFICATIONS", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t, tt.repository, tt.pins)
			project, err := s.Project(t.Context(), "r1")
			left, readErr := os.ReadDir(filepath.Join(s.Root, "build", "specifications"))
			require.NoError(t, readErr)
			if tt.want != "" {
				assert.ErrorContains(t, err, tt.want)
				assert.Equal(t, tt.unavailable, errors.Is(err, ErrUnavailable))
				assert.Empty(t, left)
				return
			}
			require.NoError(t, err)
			assert.Len(t, left, 1)
			source := filepath.Join(project, "testdata", "specifications", "source")
			assert.FileExists(t, filepath.Join(source, "crud", "tests", "unified", "a.json"))
			assert.NoFileExists(t, filepath.Join(source, "crud", "schema.json"))

			// The copy is used from then on, unless it was changed.
			s.Repository = filepath.Join(s.Root, "none")
			_, err = s.Project(t.Context(), "r1")
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(source, "gridfs", "tests", "b.json"), []byte("[]"), 0o600))
			_, err = s.Project(t.Context(), "r1")
			assert.ErrorIs(t, err, ErrUnavailable)
		})
	}
}

func TestLocal(t *testing.T) {
	t.Parallel()
	for name, folder := range map[string]string{
		"folder of revisions": "local/r1", "one checkout": "local", "shared by checkouts": "shared/specifications/r1",
		"another revision": "elsewhere",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t, filepath.Join(t.TempDir(), "none"), pin(t, "r1", commit, checkout("one")))
			s.Local = filepath.Join(s.Root, "..", "local")
			write(t, checkout("two"), s.Local)
			write(t, checkout("one"), filepath.Join(s.Root, "..", folder))
			_, err := s.Project(t.Context(), "r1")
			if folder == "elsewhere" {
				assert.ErrorIs(t, err, ErrUnavailable)
			} else {
				assert.NoError(t, err)
			}
		})
	}
	_, err := newStore(t, "", nil).Project(t.Context(), "r3")
	assert.ErrorContains(t, err, `pins no revision "r3"`)
}
