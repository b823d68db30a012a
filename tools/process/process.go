// Package process runs child processes that end, with all that they start, when the caller's context does.
package process

import (
	"context"
	"io"
	"os/exec"
	"time"
)

// Grace is the time between the interrupt and the kill of a process.
const Grace = 5 * time.Second

// Command returns a command in its own process group. When ctx ends, the whole group is interrupted, and killed after Grace. On Linux the
// command also ends when this process does, however that happens.
func Command(ctx context.Context, dir string, env []string, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, env
	cmd.WaitDelay = Grace
	isolate(cmd)
	return cmd
}

// Run runs such a command, and then kills what is left of its group.
func Run(ctx context.Context, dir string, env []string, stdout, stderr io.Writer, name string, args ...string) error {
	cmd := Command(ctx, dir, env, name, args...)
	defer Reap(cmd)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return cmd.Run()
}
