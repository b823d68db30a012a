//go:build unix

package process

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// start runs a shell that starts a child, prints the child's process id and waits.
// The child's output goes elsewhere, so that reading the shell's ends with it.
func start(ctx context.Context, t *testing.T, script string) (*exec.Cmd, int, *bufio.Reader) {
	t.Helper()
	cmd := Command(ctx, t.TempDir(), os.Environ(), "sh", "-c", script)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { Reap(cmd) })
	reader := bufio.NewReader(stdout)
	line, err := reader.ReadString('\n')
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	return cmd, pid, reader
}

// The context interrupts the whole group, and Reap kills what is left of it.
func TestGroup(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	// A shell resets the interrupt signal of its children to "ignore" only when it
	// puts them into the background, so the child is another foreground shell.
	cmd, child, output := start(ctx, t, `sh -c 'trap "echo interrupted; exit 3" INT; echo $$; while :; do sleep 0.05; done'; exit`)
	cancel()
	said, err := output.ReadString('\n')
	require.NoError(t, err)
	assert.Equal(t, "interrupted\n", said)
	assert.Error(t, cmd.Wait())
	assert.ErrorIs(t, syscall.Kill(child, 0), syscall.ESRCH, "the child's child has ended")

	cmd, child, _ = start(t.Context(), t, `sleep 60 >/dev/null 2>&1 & echo $!`)
	require.NoError(t, cmd.Wait())
	require.NoError(t, syscall.Kill(child, 0), "it outlives the shell")
	Reap(cmd)
	assert.Eventually(t, func() bool { return gone(child) }, 10*Grace, Grace/500)
}

// ownerRole in the environment makes this test binary start a command and wait to be killed.
const ownerRole = "PROCESS_TEST_OWNER"

func TestMain(m *testing.M) {
	if os.Getenv(ownerRole) == "" {
		os.Exit(m.Run())
	}
	cmd := Command(context.Background(), "", os.Environ(), "sleep", "60")
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	os.Stdout.WriteString(strconv.Itoa(cmd.Process.Pid) + "\n")
	select {}
}

func TestCommandsEndWithTheirOwner(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux kills processes when their parent dies")
	}
	owner := exec.Command(os.Args[0])
	owner.Env = append(os.Environ(), ownerRole+"=yes")
	output, err := owner.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, owner.Start())
	line, err := bufio.NewReader(output).ReadString('\n')
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	require.False(t, gone(pid))
	require.NoError(t, owner.Process.Kill())
	require.Error(t, owner.Wait())
	assert.Eventually(t, func() bool { return gone(pid) }, 10*Grace, Grace/500)
}

// gone reports whether a process has ended, if it was waited for or not.
func gone(pid int) bool {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return syscall.Kill(pid, 0) == syscall.ESRCH
	}
	_, rest, _ := strings.Cut(string(status), ") ")
	return strings.HasPrefix(rest, "Z")
}
