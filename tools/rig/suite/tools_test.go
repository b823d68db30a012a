package suite

import (
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestToolsTellNoPasswords is about all that is printed of a command: its arguments, its output, and what it says when it fails.
func TestToolsTellNoPasswords(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the program is a shell script")
	}
	t.Parallel()
	const uri = "mongodb://root:secret@h/"
	for _, exit := range []string{"0", "1"} {
		output, err := OSTools{}.Run(t.Context(), t.TempDir(), os.Environ(), "sh", "-c", "echo $1; echo $1 >&2; exit "+exit, "sh", uri)
		assert.Equal(t, "mongodb://xxxxx@h/\nmongodb://xxxxx@h/\n", output)
		if exit == "0" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, "sh -c")
		assert.ErrorContains(t, err, "mongodb://xxxxx@h/")
		assert.NotContains(t, err.Error(), "secret")
	}
}
