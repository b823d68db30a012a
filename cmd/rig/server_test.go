//go:build unix

package main

import (
	"context"
	"errors"
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
	ctx, cancel := context.WithCancel(t.Context())
	ready := filepath.Join(t.TempDir(), "ready")
	require.NoError(t, exec.Command("mkfifo", ready).Run())
	go func() {
		// Opening the pipe waits until the command opens it, which it does once it handles the signal.
		if _, err := os.ReadFile(ready); err == nil {
			cancel()
		}
	}()
	err := runWith(ctx, "mongodb://there", []string{"sh", "-c", `trap 'exit 9' TERM; : > "$1"; while :; do sleep 0.05; done`, "sh", ready})
	var failed *exec.ExitError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, 9, failed.ExitCode())
}

func TestRunWithReportsAMissingCommand(t *testing.T) {
	t.Parallel()
	err := runWith(t.Context(), "mongodb://there", []string{"no-such-command-anywhere"})
	assert.True(t, errors.Is(err, exec.ErrNotFound), "%v", err)
}
