package pypi

import (
	"errors"
	"io"
	"os"
	"os/exec"
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
		root := t.TempDir()
		require.NoError(t, filetree.Tree{"etc/server/pins.txt": nil}.Write(root))
		_, err := Ensure(t.Context(), root, "pins.txt", "it", io.Discard)
		require.Error(t, err)
		assert.Equal(t, missing, errors.Is(err, ErrUnavailable), err)
		if missing {
			assert.ErrorContains(t, err, "ERROR: No network")
		} else {
			assert.ErrorContains(t, err, "change the hash in "+filepath.Join(root, "etc", "server", "pins.txt"))
		}
	}
}

// TestDownload gets a distribution as pip does, from a folder instead of an index, and runs nothing of it.
func TestDownload(t *testing.T) {
	if _, err := find(t.Context()); err != nil {
		t.Skip(err)
	}
	index, folder := t.TempDir(), t.TempDir()
	require.NoError(t, filetree.Tree{
		"thing-1.0/PKG-INFO":       []byte("Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n"),
		"thing-1.0/pyproject.toml": []byte("[build-system]\nrequires = [\"hatchling\"]\nbuild-backend = \"hatchling.build\"\n"),
		"thing-1.0/setup.py":       []byte("raise SystemExit('it was run')"),
	}.Write(folder))
	archive := filepath.Join(index, "thing-1.0.tar.gz")
	require.NoError(t, exec.Command("tar", "-czf", archive, "-C", folder, "thing-1.0").Run())
	text, err := os.ReadFile(archive)
	require.NoError(t, err)
	t.Setenv("PIP_NO_INDEX", "1")
	t.Setenv("PIP_FIND_LINKS", index)
	got, err := Download(t.Context(), "thing==1.0 --hash=sha256:"+filetree.Digest(text))
	require.NoError(t, err)
	assert.Equal(t, text, got)

	_, err = Download(t.Context(), "thing==1.0 --hash=sha256:"+filetree.Digest(nil))
	assert.ErrorContains(t, err, "another file than the pinned one")
}
