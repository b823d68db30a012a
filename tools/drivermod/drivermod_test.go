package drivermod

import (
	"io/fs"
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

func write(t *testing.T, name, content string) {
	t.Helper()
	require.NoError(t, os.WriteFile(name, []byte(content), 0o600))
}

func TestReplaceAddsOneLine(t *testing.T) {
	t.Parallel()
	module := filepath.Join("..", "..", "examples", "overload")
	path, line, err := Replace(module, filepath.FromSlash("/repo/build/v2.5.0"), t.TempDir())
	require.NoError(t, err)
	assert.Equal(t, "replace "+Path+" => "+filepath.FromSlash("/repo/build/v2.5.0"), line)
	assert.Equal(t, read(t, filepath.Join(module, "go.mod"))+"\n"+line+"\n", read(t, path))
	assert.Equal(t, read(t, filepath.Join(module, "go.sum")), read(t, filepath.Join(filepath.Dir(path), "go.sum")))
}

func TestReplaceChangesTheLineThatThereIs(t *testing.T) {
	t.Parallel()
	path, _, err := Replace(filepath.Join("..", "..", "contrib", "otel"), filepath.FromSlash("/repo/build/pristine/v2.5.0"), t.TempDir())
	require.NoError(t, err)
	assert.Contains(t, read(t, path), Path+" => "+filepath.FromSlash("/repo/build/pristine/v2.5.0"))
	assert.Equal(t, 1, strings.Count(read(t, path), Path+" => "))
}

func TestModuleOfAFolder(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	inner := filepath.Join(root, "lab", "cmd", "lab")
	require.NoError(t, os.MkdirAll(inner, 0o755))
	_, err := Module(inner)
	require.ErrorContains(t, err, "no go.mod in it or above it")

	write(t, filepath.Join(root, "lab", "go.mod"), "module m\n")
	for _, folder := range []string{inner, filepath.Join(root, "lab")} {
		module, err := Module(folder)
		require.NoError(t, err)
		assert.Equal(t, filepath.Join(root, "lab"), module)
	}
}

func TestRequired(t *testing.T) {
	t.Parallel()
	module := t.TempDir()
	_, err := Required(module)
	require.ErrorIs(t, err, fs.ErrNotExist)

	write(t, filepath.Join(module, "go.mod"), "module m\n\nrequire other v1.0.0\n")
	_, err = Required(module)
	require.ErrorContains(t, err, "does not require "+Path)

	write(t, filepath.Join(module, "go.mod"), "module m\n\nrequire (\n\tother v1.0.0\n\t"+Path+" v2.5.0\n)\n")
	version, err := Required(module)
	require.NoError(t, err)
	assert.Equal(t, "v2.5.0", version)
}
