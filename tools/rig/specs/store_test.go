package specs

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// checkout is a made-up state of the specifications repository.
func checkout(content string) fstest.MapFS {
	return fstest.MapFS{
		"README.md":                       {Data: []byte("no test data")},
		"source/crud/crud.md":             {Data: []byte("no test data")},
		"source/crud/schema.json":         {Data: []byte("{}")},
		"source/crud/tests/unified/a.yml": {Data: []byte("no JSON")},
		"source/crud/tests/unified/a.json": {Data: []byte(
			`{"tests": ["` + content + `"]}`)},
		"source/gridfs/tests/b.json": {Data: []byte("{}")},
	}
}

const commit = "0123456789abcdef0123456789abcdef01234567"

// pin returns the revision that the checkout is pinned as.
func pin(t *testing.T, name string, files fstest.MapFS) Revision {
	t.Helper()
	hash, err := Hash(files)
	require.NoError(t, err)
	return Revision{Name: name, Commit: commit, Hash: hash}
}

// archive packs files like the public repository does, below one top folder.
func archive(t *testing.T, files fstest.MapFS, extra ...*tar.Header) []byte {
	t.Helper()
	var packed bytes.Buffer
	compressed := gzip.NewWriter(&packed)
	w := tar.NewWriter(compressed)
	for name, file := range files {
		header := &tar.Header{Name: "specifications-" + commit + "/" + name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(file.Data))}
		require.NoError(t, w.WriteHeader(header))
		_, err := w.Write(file.Data)
		require.NoError(t, err)
	}
	for _, header := range extra {
		require.NoError(t, w.WriteHeader(header))
	}
	require.NoError(t, w.Close())
	require.NoError(t, compressed.Close())
	return packed.Bytes()
}

// serve answers every request with the status and body, and returns a store that
// downloads from there.
func serve(t *testing.T, status int, body []byte, pins ...Revision) *Store {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write(body)
	}))
	t.Cleanup(server.Close)
	return &Store{
		Root: t.TempDir(), Pins: pins, Client: server.Client(), Progress: io.Discard,
		Archive: func(commit string) string { return server.URL + "/" + commit },
	}
}

// write writes a checkout to a folder.
func write(t *testing.T, files fstest.MapFS, dir string) {
	t.Helper()
	require.NoError(t, os.CopyFS(dir, files))
}

// requireTests checks that a project folder holds the made-up tests and nothing
// else.
func requireTests(t *testing.T, project, content string) {
	t.Helper()
	source := filepath.Join(project, "testdata", "specifications", "source")
	text, err := os.ReadFile(filepath.Join(source, "crud", "tests", "unified", "a.json"))
	require.NoError(t, err)
	assert.Contains(t, string(text), content)
	assert.NoFileExists(t, filepath.Join(source, "crud", "crud.md"))
	assert.NoFileExists(t, filepath.Join(source, "crud", "schema.json"))
}

// requireClean checks that a failed attempt left nothing behind.
func requireClean(t *testing.T, s *Store) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(s.Root, "build", "specifications"))
	require.NoError(t, err)
	assert.Empty(t, entries)
}

func TestDownload(t *testing.T) {
	files := checkout("one")
	s := serve(t, http.StatusOK, archive(t, files), pin(t, "r1", files))
	project, err := s.Project(t.Context(), "r1")
	require.NoError(t, err)
	requireTests(t, project, "one")

	// The copy is used from then on, and no other is fetched.
	s.Archive = func(string) string { return "http://127.0.0.1:0/" }
	again, err := s.Project(t.Context(), "r1")
	require.NoError(t, err)
	assert.Equal(t, project, again)

	// A copy that was changed is not used.
	changed := filepath.Join(project, "testdata", "specifications", "source", "gridfs", "tests", "b.json")
	require.NoError(t, os.WriteFile(changed, []byte("[]"), 0o600))
	_, err = s.Project(t.Context(), "r1")
	assert.ErrorIs(t, err, ErrUnavailable)
}

func TestDownloadRefuses(t *testing.T) {
	files := checkout("one")
	whole := archive(t, files)
	outside := &tar.Header{Name: "top/source/x/tests/../../../../y.json", Typeflag: tar.TypeReg}
	huge := &tar.Header{Name: "top/source/x/tests/huge.json", Typeflag: tar.TypeReg, Size: maxUnpacked + 1}
	tests := []struct {
		name   string
		status int
		body   []byte
		want   string
	}{
		{"other content", http.StatusOK, archive(t, checkout("two")), "are not the pinned ones"},
		{"missing file", http.StatusOK, archive(t, fstest.MapFS{"source/crud/tests/unified/a.json": files["source/crud/tests/unified/a.json"]}), "are not the pinned ones"},
		{"truncated", http.StatusOK, whole[:len(whole)-12], "read the archive: unexpected EOF"},
		{"damaged", http.StatusOK, append(bytes.Clone(whole[:len(whole)-8]), 0, 0, 0, 0, 0, 0, 0, 0), "read the archive: gzip: invalid checksum"},
		{"no archive", http.StatusOK, []byte("<html>"), "read the archive"},
		{"path outside", http.StatusOK, archive(t, files, outside), "outside of its folder"},
		{"too large", http.StatusOK, unfinished(t, huge), "exceed"},
		{"not found", http.StatusNotFound, nil, "404 Not Found; set SPECIFICATIONS to a checkout of mongodb/specifications at " + commit},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, tt.status, tt.body, pin(t, "r1", files))
			_, err := s.Project(t.Context(), "r1")
			assert.ErrorContains(t, err, tt.want)
			assert.NotContains(t, err.Error(), "\n")
			requireClean(t, s)
			assert.NoFileExists(t, filepath.Join(s.Root, "build", "y.json"))
		})
	}
}

// unfinished returns an archive that ends after a header.
func unfinished(t *testing.T, header *tar.Header) []byte {
	t.Helper()
	var packed bytes.Buffer
	compressed := gzip.NewWriter(&packed)
	require.NoError(t, tar.NewWriter(compressed).WriteHeader(header))
	require.NoError(t, compressed.Close())
	return packed.Bytes()
}

func TestDownloadIsUnavailable(t *testing.T) {
	files := checkout("one")
	for name, s := range map[string]*Store{
		"no network": {Client: http.DefaultClient, Archive: func(string) string { return "http://127.0.0.1:0/x" }},
		"not found":  serve(t, http.StatusNotFound, nil),
	} {
		t.Run(name, func(t *testing.T) {
			s.Root, s.Pins, s.Progress = t.TempDir(), []Revision{pin(t, "r1", files)}, io.Discard
			_, err := s.Project(t.Context(), "r1")
			assert.ErrorIs(t, err, ErrUnavailable)
			assert.ErrorContains(t, err, "set SPECIFICATIONS")
		})
	}
}

func TestLocal(t *testing.T) {
	one, two := checkout("one"), checkout("two")
	pins := []Revision{pin(t, "r1", one), pin(t, "r2", two)}

	t.Run("folder of revisions", func(t *testing.T) {
		s := serve(t, http.StatusNotFound, nil, pins...)
		s.Local = t.TempDir()
		write(t, one, filepath.Join(s.Local, "r1"))
		project, err := s.Project(t.Context(), "r1")
		require.NoError(t, err)
		requireTests(t, project, "one")
	})
	t.Run("one checkout", func(t *testing.T) {
		s := serve(t, http.StatusNotFound, nil, pins...)
		s.Local = t.TempDir()
		write(t, two, s.Local)
		project, err := s.Project(t.Context(), "r2")
		require.NoError(t, err)
		requireTests(t, project, "two")
		_, err = s.Project(t.Context(), "r1")
		assert.ErrorIs(t, err, ErrUnavailable, "another revision is downloaded")
	})
	t.Run("shared folder", func(t *testing.T) {
		s := serve(t, http.StatusNotFound, nil, pins...)
		s.Root = filepath.Join(t.TempDir(), "repository")
		require.NoError(t, os.Mkdir(s.Root, 0o755))
		write(t, one, filepath.Join(s.Root, "..", "shared", "specifications", "r1"))
		project, err := s.Project(t.Context(), "r1")
		require.NoError(t, err)
		requireTests(t, project, "one")
	})
	t.Run("changed", func(t *testing.T) {
		s := serve(t, http.StatusOK, archive(t, one), pins...)
		s.Local = t.TempDir()
		write(t, checkout("changed"), s.Local)
		_, err := s.Project(t.Context(), "r1")
		assert.ErrorContains(t, err, "are not the pinned ones")
		assert.NotErrorIs(t, err, ErrUnavailable)
		requireClean(t, s)
	})
	t.Run("no checkout", func(t *testing.T) {
		s := serve(t, http.StatusOK, archive(t, one), pins...)
		s.Local = t.TempDir()
		_, err := s.Project(t.Context(), "r1")
		assert.ErrorContains(t, err, "holds neither r1/source nor source")
	})
	t.Run("unknown revision", func(t *testing.T) {
		_, err := serve(t, http.StatusOK, nil, pins...).Project(t.Context(), "r3")
		assert.ErrorContains(t, err, `pins no revision "r3"`)
	})
}

func TestParsePins(t *testing.T) {
	hash := "h1:" + strings.Repeat("A", 43) + "="
	pins, err := parsePins("# comment\n\nr1 "+commit+" "+hash+"\n", "pins")
	require.NoError(t, err)
	assert.Equal(t, []Revision{{Name: "r1", Commit: commit, Hash: hash}}, pins)

	tests := []struct{ text, want string }{
		{"r1 " + commit, "pins:1: want a name, a commit and a hash, got 2 words"},
		{"../r1 " + commit + " " + hash, `pins:1: "../r1" is no revision name`},
		{"r1 abc " + hash, `pins:1: "abc" is no full commit hash`},
		{"r1 " + commit + " sha256:x", `pins:1: "sha256:x" is no h1: hash`},
		{"r1 " + commit + " " + hash + "\nr1 " + commit + " " + hash, "pins:2: revision r1 is pinned twice"},
	}
	for _, tt := range tests {
		_, err := parsePins(tt.text, "pins")
		assert.EqualError(t, err, tt.want)
	}
}

func TestReadPinsOfThisRepository(t *testing.T) {
	pins, err := ReadPins(filepath.Join("..", "..", "..", "etc", "specifications"))
	require.NoError(t, err)
	assert.NotEmpty(t, pins)
}
