package pypi

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/filetree"
)

// TestInstall is about pip's errors: a wrong hash is one, all else means that the package cannot be had here.
func TestInstall(t *testing.T) {
	path := os.Getenv("PATH")
	for message, missing := range map[string]bool{"THESE PACKAGES DO NOT MATCH THE HASHES": false, "No network": true} {
		bin := t.TempDir()
		t.Setenv("PATH", bin)
		require.NoError(t, os.WriteFile(filepath.Join(bin, "python3"), []byte("#!/bin/sh\nPATH="+path+`
case "$2" in
venv) mkdir -p "$3/bin"; cp "$0" "$3/bin/python" ;;
pip) echo note; echo "ERROR: `+message+`"; exit 1 ;;
*) echo Python 3.12.1 ;;
esac`), 0o755))
		pins := filepath.Join(bin, "pins.txt")
		require.NoError(t, os.WriteFile(pins, nil, 0o600))
		_, err := Ensure(t.Context(), t.TempDir(), pins, "it", io.Discard)
		require.Error(t, err)
		assert.Equal(t, missing, errors.Is(err, ErrUnavailable), err)
		if missing {
			assert.ErrorContains(t, err, "ERROR: No network")
		} else {
			assert.ErrorContains(t, err, "change the hash in "+pins)
		}
	}
}

// TestDownload gets a distribution as pip does, from a folder instead of an index, and runs nothing of it.
func TestDownload(t *testing.T) {
	python, err := find(t.Context())
	if err != nil {
		t.Skip(err)
	}
	require.NotEmpty(t, python)
	index := t.TempDir()
	text := archive(t, map[string]string{
		"PKG-INFO":       "Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n",
		"pyproject.toml": "[build-system]\nrequires = [\"hatchling\"]\nbuild-backend = \"hatchling.build\"\n",
		"setup.py":       "raise SystemExit('it was run')",
	})
	require.NoError(t, os.WriteFile(filepath.Join(index, "thing-1.0.tar.gz"), text, 0o600))
	t.Setenv("PIP_NO_INDEX", "1")
	t.Setenv("PIP_FIND_LINKS", index)
	got, err := Download(t.Context(), "thing==1.0 --hash=sha256:"+filetree.Digest(text))
	require.NoError(t, err)
	assert.Equal(t, text, got)

	_, err = Download(t.Context(), "thing==1.0 --hash=sha256:"+filetree.Digest(nil))
	assert.ErrorContains(t, err, "another file than the pinned one")
}

func archive(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	w := tar.NewWriter(zipped)
	for name, text := range files {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: "thing-1.0/" + name, Mode: 0o644, Size: int64(len(text))}))
		_, err := w.Write([]byte(text))
		require.NoError(t, err)
	}
	require.NoError(t, errors.Join(w.Close(), zipped.Close()))
	return b.Bytes()
}
