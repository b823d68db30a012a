package filetree

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadTreeRefusesLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Symlink("elsewhere", filepath.Join(dir, "link")); err != nil {
		t.Skipf("this system has no symbolic links: %v", err)
	}
	_, err := Read(dir)
	require.ErrorContains(t, err, "link is not a regular file")
}
