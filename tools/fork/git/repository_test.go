package git

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// A repository that cannot be made leaves nothing behind.
func TestNewWithoutGit(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir) // os.TempDir on Unix
	t.Setenv("TMP", dir)    // on Windows
	noGit := func(context.Context, string, []string, string, ...string) ([]byte, error) {
		return nil, errors.New("no git command")
	}
	_, _, err := New(t.Context(), noGit, "A Tester <tester@localhost>")
	require.EqualError(t, err, "no git command")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}
