package series

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"mongofork/tools/fork/forktest"
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
		var want, got map[string]any
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, &want))
		data, err = os.ReadFile(filepath.Join(filepath.Dir(readme), name))
		require.NoError(t, err)
		require.NotContains(t, string(data), "{\n")
		require.NoError(t, yaml.Unmarshal(data, &got))
		wantJSON, err := json.Marshal(want)
		require.NoError(t, err)
		gotJSON, err := json.Marshal(got)
		require.NoError(t, err)
		require.JSONEq(t, string(wantJSON), string(gotJSON))
	}
}
