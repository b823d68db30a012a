//go:build unix

package process

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// attributes put a command into its own process group, because "go test" leaves its test binaries running when only it is killed.
var attributes = syscall.SysProcAttr{Setpgid: true}

// isolate makes the command end with its context, together with all that it started, and with this process.
func isolate(cmd *exec.Cmd) {
	own := attributes
	cmd.SysProcAttr = &own
	cmd.Cancel = func() error {
		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
}

// Reap kills the rest of the group of a command that has been waited for.
func Reap(cmd *exec.Cmd) {
	if cmd.Process != nil {
		// Usually nothing is left, which is no error.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}

const (
	Pause  = syscall.SIGSTOP // stops a process, like an overloaded machine
	Resume = syscall.SIGCONT // continues it
)
