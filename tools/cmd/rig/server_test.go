//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRunWithPassesTheURIAndTheExitCode(t *testing.T) {
	t.Parallel()
	output := filepath.Join(t.TempDir(), "uri")
	err := runWith(t.Context(), "mongodb://there", []string{"sh", "-c", `printf %s "$MONGODB_URI" > "$1"; exit 7`, "sh", output})
	var failed *exec.ExitError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, 7, failed.ExitCode())
	uri, err := os.ReadFile(output)
	require.NoError(t, err)
	assert.Equal(t, "mongodb://there", string(uri))
}

func TestRunWithAsksTheCommandToEnd(t *testing.T) {
	t.Parallel()
	var failed *exec.ExitError
	require.ErrorAs(t, interrupt(t, 9), &failed)
	assert.Equal(t, 9, failed.ExitCode())
	assert.NoError(t, interrupt(t, 0), "it ended well")
}

// interrupt returns the error of a command that ends with that code when it is
// asked to end.
func interrupt(t *testing.T, code int) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ready := filepath.Join(t.TempDir(), "ready")
	require.NoError(t, exec.Command("mkfifo", ready).Run())
	go func() {
		// Opening the pipe waits until the command opens it, which it does once it handles the signal.
		if _, err := os.ReadFile(ready); err == nil {
			cancel()
		}
	}()
	script := fmt.Sprintf(`trap 'exit %d' TERM; : > "$1"; while :; do sleep 0.05; done`, code)
	return runWith(ctx, "mongodb://there", []string{"sh", "-c", script, "sh", ready})
}

func TestRunWithReportsAMissingCommand(t *testing.T) {
	t.Parallel()
	err := runWith(t.Context(), "mongodb://there", []string{"no-such-command-anywhere"})
	assert.True(t, errors.Is(err, exec.ErrNotFound), "%v", err)
}
