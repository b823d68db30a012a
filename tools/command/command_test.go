package command

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// role in the environment makes this test binary a program that says when it runs, and works until it is told to end.
const role = "COMMAND_TEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(role) == "" {
		os.Exit(m.Run())
	}
	Main(func(ctx context.Context, _ []string, stdout, _ io.Writer) int {
		fmt.Fprintln(stdout, "running")
		select {
		case <-ctx.Done():
			fmt.Fprintln(stdout, "told to end")
		case <-time.After(20 * time.Second):
		}
		return ExitOK
	})
}

// A program ends with the process that asked for that, even if that is killed; otherwise it outlives its parent.
func TestEndWith(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there is no shell to be killed")
	}
	for script, want := range map[string]bool{
		"export END_WITH=$$; \"$0\" & echo $!; wait": true,
		"\"$0\" & echo $!; wait":                     false,
	} {
		shell := exec.Command("sh", "-c", script, os.Args[0])
		shell.Env = append(os.Environ(), role+"=program")
		output, err := shell.StdoutPipe()
		assert.NoError(t, err)
		assert.NoError(t, shell.Start())
		lines := bufio.NewScanner(output)
		var said []string
		for len(said) < 2 && lines.Scan() {
			said = append(said, lines.Text())
		}
		assert.Contains(t, said, "running", script)
		assert.NoError(t, shell.Process.Kill())
		if !want {
			time.Sleep(3 * parentInterval)
			for _, line := range said {
				if id, err := strconv.Atoi(line); err == nil {
					assert.NoError(t, syscall.Kill(id, syscall.SIGTERM), "it still runs")
				}
			}
		}
		assert.True(t, lines.Scan())
		assert.Equal(t, "told to end", lines.Text(), script)
		assert.Error(t, shell.Wait())
	}
}

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

// The error of a failed command names it, also without arguments, and has what it wrote to its standard error.
func TestOutputOfAFailedCommand(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{"go: exit status 2: ": nil, "go tool: exit status 2: ": {"tool", "no-such-tool"}} {
		_, err := Output(t.Context(), t.TempDir(), []string{"GOWORK=off"}, "go", args...)
		require.ErrorContains(t, err, want)
	}
}
