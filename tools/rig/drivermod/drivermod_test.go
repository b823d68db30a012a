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
	assert.Contains(t, read(t, path), Path+" => "+filepath.FromSlash("/repo/build/pristine/v2.5.0"))
	assert.Equal(t, 1, strings.Count(read(t, path), Path+" => "))
}

func TestFlags(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write := func(module, replace string) string {
		folder := filepath.Join(root, module)
		require.NoError(t, os.MkdirAll(folder, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "go.mod"), []byte("module m\n\nrequire "+Path+" v2.5.0\n\n"+replace), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "go.sum"), nil, 0o600))
		return folder
	}
	nested := write("a/b", "replace (\n\tn => ../\n\t"+Path+" => ../../build/v2.5.0\n)\n")
	driver, copies := filepath.Join(root, "build", "v2.9.3"), filepath.Join(root, "build", "modfiles")

	flags, err := Flags(nested, driver, copies)
	require.NoError(t, err)
	assert.Equal(t, []string{"-mod=mod", "-modfile=../../build/modfiles/go.mod"}, flags)
	replaced := read(t, filepath.Join(copies, "go.mod"))
	assert.Contains(t, replaced, Path+" => "+driver)
	assert.NotContains(t, replaced, "build/v2.5.0")

	flags, err = Flags(nested, filepath.Join(root, "build", "v2.5.0"), copies)
	require.NoError(t, err)
	assert.Empty(t, flags, "that is what go.mod says")

	for _, replace := range []string{"", "replace " + Path + " => " + Path + " v2.5.1\n"} {
		flags, err = Flags(write("released", replace), driver, copies)
		require.NoError(t, err)
		assert.Empty(t, flags, "a release is to stay one")
	}
	_, err = Flags(t.TempDir(), driver, copies)
	assert.Error(t, err, "there is no go.mod")
}
