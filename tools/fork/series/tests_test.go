package series

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"mongofork/tools/fork/forktest"
	"mongofork/tools/strict"
)

// The change request for the specifications has our tests, and adds the entry to their README once.
func TestTests(t *testing.T) {
	t.Parallel()
	root, checkout := forktest.Repository(t), t.TempDir()
	opt, err := ReadOptions(root)
	require.NoError(t, err)
	require.NotEmpty(t, opt.Tests.Files)
	readme := filepath.Join(checkout, filepath.FromSlash(opt.Tests.Folder), "README.md")
	require.NoError(t, os.MkdirAll(filepath.Dir(readme), 0o755))
	require.NoError(t, os.WriteFile(readme, []byte("# Tests\n"), 0o600))
	for range 2 {
		require.NoError(t, opt.Tests.Write(root, checkout))
	}
	text, err := os.ReadFile(readme)
	require.NoError(t, err)
	require.Equal(t, "# Tests\n\n"+opt.Tests.Entry, string(text))

	for _, file := range opt.Tests.Files {
		name := strings.TrimSuffix(path.Base(file), ".json") + ".yml"
		require.Contains(t, opt.Tests.Entry, name)
		var want, got any
		require.NoError(t, strict.Read(filepath.Join(root, filepath.FromSlash(file)), &want)) // JSON is YAML
		data, err := os.ReadFile(filepath.Join(filepath.Dir(readme), name))
		require.NoError(t, err)
		require.NotContains(t, string(data), "{\n")
		require.NoError(t, strict.Decode(data, &got))
		require.Equal(t, want, got)
	}
}
