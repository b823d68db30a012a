package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	type cli struct {
		Loud bool `help:"Shout."`
	}
	broken := errors.New("broken")
	for _, test := range []struct {
		name   string
		args   []string
		err    error
		failed func(error, io.Writer) int
		code   int
		said   string // somewhere in the output
	}{
		{name: "done", args: []string{"--loud"}, code: ExitOK},
		{name: "help", args: []string{"--help"}, code: ExitOK, said: "Does nothing."},
		{name: "unknown flag", args: []string{"--lud"}, code: ExitUsage, said: "idle: unknown flag --lud"},
		{name: "failed", err: broken, code: ExitFailed, said: "idle: broken\n"},
		{name: "a code of its own", err: broken, failed: func(error, io.Writer) int { return 7 }, code: 7},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out strings.Builder
			var c cli
			done := false
			code := Program{
				Name: "idle", Description: "Does nothing.", CLI: &c, Failed: test.failed,
				Do: func(*kong.Context) error {
					done = true
					assert.Equal(t, len(test.args) > 0, c.Loud)
					return test.err
				},
			}.Run(test.args, &out, &out)
			assert.Equal(t, test.code, code)
			assert.Contains(t, out.String(), test.said)
			assert.Equal(t, test.code != ExitUsage && test.name != "help", done)
		})
	}
}

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
	output := filepath.Join(t.TempDir(), "uri")
	err := PassThrough(t.Context(), []string{"MONGODB_URI=mongodb://there"},
		[]string{"--", "sh", "-c", `printf %s "$MONGODB_URI" > "$1"; exit 7`, "sh", output})
	var failed *exec.ExitError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, 7, failed.ExitCode())
	uri, err := os.ReadFile(output)
	require.NoError(t, err)
	assert.Equal(t, "mongodb://there", string(uri))
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
