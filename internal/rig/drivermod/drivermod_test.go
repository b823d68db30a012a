package drivermod

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(content)
}

func TestReplaceAddsOneLine(t *testing.T) {
	t.Parallel()
	module := filepath.Join("..", "..", "..", "examples", "overload")
	path, line, err := Replace(module, filepath.FromSlash("/repo/build/v2.5.0"), t.TempDir())
	require.NoError(t, err)
	assert.Equal(t, "replace "+Path+" => "+filepath.FromSlash("/repo/build/v2.5.0"), line)
	assert.Equal(t, read(t, filepath.Join(module, "go.mod"))+"\n"+line+"\n", read(t, path))
	assert.Equal(t, read(t, filepath.Join(module, "go.sum")), read(t, filepath.Join(filepath.Dir(path), "go.sum")))
}

func TestReplaceChangesTheLineThatThereIs(t *testing.T) {
	t.Parallel()
	path, _, err := Replace(filepath.Join("..", "..", "..", "lab"), filepath.FromSlash("/repo/build/pristine/v2.5.0"), t.TempDir())
	require.NoError(t, err)
	assert.Contains(t, read(t, path), "replace "+Path+" => "+filepath.FromSlash("/repo/build/pristine/v2.5.0"))
	assert.Equal(t, 1, strings.Count(read(t, path), "replace "))
}

func TestRequires(t *testing.T) {
	t.Parallel()
	module := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(module, "go.mod"), []byte("module m\n\nrequire "+Path+" v2.5.0\n"), 0o600))
	assert.NoError(t, Requires(module, "v2.5.0"))
	assert.ErrorContains(t, Requires(module, "v2.7.0"), "does not require "+Path+" v2.7.0; run: go -C "+module+" get "+Path+"@v2.7.0")
	assert.Error(t, Requires(t.TempDir(), "v2.5.0"), "there is no go.mod")
}
