package programs

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/forktest"
)

// TestWith runs a program with a driver that stands below build, or in any folder.
func TestWith(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	require.NoError(t, forktest.Archive(t, "repository.txtar").Write(root))
	var said strings.Builder
	with := func(programs bool, driver string, args ...string) error {
		said.Reset()
		return (&With{programs, driver, "lab", args}).Run(t.Context(), Builder{Root: root, Stderr: &said})
	}
	for _, driver := range []string{"v1", filepath.Join(root, "build", "v1")} {
		require.NoError(t, with(false, driver, "--", "run", "."), said.String())
		assert.Equal(t, "forked\n", said.String())
	}
	require.NoError(t, with(true, "v1", "build", "."))
	assert.FileExists(t, filepath.Join(root, "build", "with", "v1", "lab"))
	for _, driver := range []string{"other", "missing"} {
		assert.ErrorContains(t, with(false, driver, "run", "."), "has no module of the driver; make trees builds")
	}
}
