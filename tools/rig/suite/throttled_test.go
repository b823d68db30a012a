package suite

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOverlayFlags(t *testing.T) {
	fork, temp := t.TempDir(), t.TempDir()
	file := filepath.Join(fork, "a.go")
	require.NoError(t, os.WriteFile(file, []byte("package a // off\n"), 0o600))

	flags, err := overlayFlags(temp, fork, []forced{{file: "a.go", old: "off", new: "on"}})
	require.NoError(t, err)
	require.Len(t, flags, 1)
	list, ok := strings.CutPrefix(flags[0], "-overlay=")
	require.True(t, ok)
	content, err := os.ReadFile(list)
	require.NoError(t, err)
	var overlay struct{ Replace map[string]string }
	require.NoError(t, json.Unmarshal(content, &overlay))
	require.Contains(t, overlay.Replace, file)
	changed, err := os.ReadFile(overlay.Replace[file])
	require.NoError(t, err)
	assert.Equal(t, "package a // on\n", string(changed))

	for old, want := range map[string]string{"on": "0 times", "f": "2 times"} {
		_, err = overlayFlags(temp, fork, []forced{{file: "a.go", old: old}})
		assert.ErrorContains(t, err, want)
		assert.ErrorContains(t, err, "throttled.go", "where to mend it")
	}
}

// TestForcedThrottlingFits finds each change's text in the overlay, which the fork has as it is.
func TestForcedThrottlingFits(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	_, err := overlayFlags(t.TempDir(), root, forcedThrottling())
	assert.NoError(t, err)
}

// TestThrottledExceptions reads the repository's list.
func TestThrottledExceptions(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "etc", "throttled"))
	require.NoError(t, err)
	exceptions, err := ParseExceptions(string(text))
	require.NoError(t, err)
	assert.NotEmpty(t, exceptions)
}
