package command

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPassThrough(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no sh")
	}
	t.Parallel()
	var failed *exec.ExitError
	require.ErrorAs(t, PassThrough(t.Context(), nil, []string{"sh", "-c", "exit 7"}), &failed)
	assert.Equal(t, 7, failed.ExitCode())
	assert.ErrorIs(t, PassThrough(t.Context(), nil, []string{"no-such-command-anywhere"}), exec.ErrNotFound)

	for code := range 2 { // that of a command that is asked to end
		ready := filepath.Join(t.TempDir(), "ready")
		require.NoError(t, exec.Command("mkfifo", ready).Run())
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			// Opening the pipe waits until the command opens it, which it does once it handles the signal.
			if _, err := os.ReadFile(ready); err == nil {
				cancel()
			}
		}()
		script := fmt.Sprintf(`trap 'exit %d' TERM; : > "$1"; while :; do sleep 0.05; done`, code)
		assert.Equal(t, code == 0, PassThrough(ctx, nil, []string{"sh", "-c", script, "sh", ready}) == nil)
		cancel()
	}
}
