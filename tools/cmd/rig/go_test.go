package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/tools/rig/drivermod"
)

func TestGoArguments(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, content := range map[string]string{
		"a/b/go.mod": "module m\n\nreplace " + drivermod.Path + " => ../../build/v2.5.0\n", "a/b/go.sum": "",
		"build/v2.5.0/go.mod": "", "build/v2.9.3/go.mod": "",
	} {
		name = filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(content), 0o600))
	}
	arguments := func(base string, words ...string) ([]string, error) {
		return (&goCmd{rigFlags: rigFlags{Base: base}, Module: "a/b", Arguments: words}).arguments(root)
	}
	got, err := arguments("v2.5.0", "test", "-race", "./...")
	require.NoError(t, err)
	assert.Equal(t, []string{"test", "-race", "./..."}, got)
	got, err = arguments("v2.9.3", "--", "test", "-race", "./...")
	require.NoError(t, err)
	assert.Equal(t, []string{"test", "-mod=mod", "-modfile=../../build/modfiles/v2.9.3/a/b/go.mod", "-race", "./..."}, got)
	_, err = arguments("v2.9.3", "--")
	assert.ErrorContains(t, err, "no command for go")
	_, err = arguments("v2.6.0", "test")
	assert.ErrorContains(t, err, "the fork is not built; run: make fork BASE=v2.6.0")
}
