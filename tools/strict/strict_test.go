package strict

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRead(t *testing.T) {
	t.Parallel()
	file, have := filepath.Join(t.TempDir(), "file"), struct{ Name string }{"before"}
	require.ErrorIs(t, Read(file, &have), os.ErrNotExist)
	require.NoError(t, os.WriteFile(file, []byte("# nothing\n"), 0o600))
	require.NoError(t, Read(file, &have))
	require.Equal(t, "before", have.Name)
	require.NoError(t, os.WriteFile(file, []byte("name: a\nfile: b\n"), 0o600))
	require.ErrorContains(t, Read(file, &have), "field file not found")
}
