package page

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWriteReplacesWhatIsBetweenTheMarkers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.md")
	require.NoError(t, os.WriteFile(file,
		[]byte("a\n<!-- measured: x -->\n| old |\n<!-- end -->\nb\n<!-- measured: y -->\n<!-- end -->\n"), 0o600))
	require.NoError(t, Write(file, "x", "| new |\n"))
	require.NoError(t, Write(file, "y", "| second |"))
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "a\n<!-- measured: x -->\n| new |\n<!-- end -->\nb\n<!-- measured: y -->\n| second |\n<!-- end -->\n",
		string(content))
	assert.ErrorContains(t, Write(file, "z", ""), `there is no "<!-- measured: z -->"`)
}
