package git

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// A repository that cannot be made leaves nothing behind.
func TestNewWithoutGit(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir) // os.TempDir on Unix
	t.Setenv("TMP", dir)    // on Windows
	t.Setenv("PATH", dir)
	_, _, err := New(t.Context(), "A Tester <tester@localhost>")
	require.ErrorIs(t, err, exec.ErrNotFound)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}
