package output

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLinkLeadsToTheLastOutput(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	link := filepath.Join(root, LinkName)
	for _, base := range []string{"v2.5.0", "v2.10.0", "v2.10.0"} {
		require.NoError(t, Folder{Dir: filepath.Join(root, base)}.Link())
		target, err := os.Readlink(link)
		require.NoError(t, err)
		assert.Equal(t, base, target)
	}

	require.NoError(t, os.Remove(link))
	require.NoError(t, os.Mkdir(link, 0o755))
	assert.ErrorContains(t, Folder{Dir: filepath.Join(root, "v2.5.0")}.Link(), "move it away", "a folder of somebody's is kept")
	assert.DirExists(t, link)
}
