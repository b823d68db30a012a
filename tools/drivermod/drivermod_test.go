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
	module := filepath.Join("..", "..", "examples", "overload")
	path, err := Replace(module, filepath.FromSlash("/repo/build/v2.5.0"), t.TempDir())
	require.NoError(t, err)
	line := "replace " + Path + " => " + filepath.FromSlash("/repo/build/v2.5.0")
	assert.Equal(t, read(t, filepath.Join(module, "go.mod"))+"\n"+line+"\n", read(t, path))
	assert.Equal(t, read(t, filepath.Join(module, "go.sum")), read(t, filepath.Join(filepath.Dir(path), "go.sum")))
}

func TestReplaceChangesTheLineThatThereIs(t *testing.T) {
	t.Parallel()
	path, err := Replace(filepath.Join("..", "..", "contrib", "otel"), filepath.FromSlash("/repo/build/pristine/v2.5.0"), t.TempDir())
	require.NoError(t, err)
	assert.Contains(t, read(t, path), Path+" => "+filepath.FromSlash("/repo/build/pristine/v2.5.0"))
	assert.Equal(t, 1, strings.Count(read(t, path), Path+" => "))
}
