package programs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// newBuilder returns a builder below a root that has a driver, and a module that uses it.
func newBuilder(t *testing.T) Builder {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"build/v1/go.mod": "module " + upstream + "\n\ngo 1.19\n", "build/v1/a.go": "package driver\n\nconst Name = \"forked\"\n",
		"build/other/go.mod": "module other\n",
		"go.mod":             "module rig\n\ngo 1.25.0\n",
		"bench/go.mod":       "module bench\n\ngo 1.25.0\n",
		"lab/go.mod":         "module lab\n\ngo 1.25.0\n\nrequire " + upstream + " v2.5.0\n",
		"lab/main.go":        "package main\n\nimport driver \"" + upstream + "\"\n\nfunc main() { println(driver.Name) }\n",
	} {
		file := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	return Builder{Root: root, Stderr: new(strings.Builder)}
}

// TestGo runs a program with a driver that stands below build, or in any folder.
func TestGo(t *testing.T) {
	t.Parallel()
	b := newBuilder(t)
	for _, driver := range []string{"v1", filepath.Join(b.Root, "build", "v1")} {
		var said strings.Builder
		b.Stderr = &said
		require.NoError(t, (&With{false, driver, "lab", []string{"--", "run", "."}}).Run(t.Context(), b), said.String())
		assert.Equal(t, "forked\n", said.String())
	}
	require.NoError(t, (&With{true, "v1", "lab", []string{"build", "."}}).Run(t.Context(), b))
	assert.FileExists(t, filepath.Join(b.Root, "build", "with", "v1", "lab"))
}

func TestNoDriver(t *testing.T) {
	t.Parallel()
	b := newBuilder(t)
	for _, driver := range []string{"other", "missing"} {
		assert.ErrorContains(t, (&With{false, driver, "lab", nil}).Run(t.Context(), b), "has no module of the driver; make trees builds")
	}
}
