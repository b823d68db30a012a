// Package process runs child processes so that they and what they start in turn
// end when the caller's context does.
package process

import (
	"context"
	"os/exec"
	"time"
)

// Grace is how long a process may take to end after it was interrupted before
// it is killed.
const Grace = 5 * time.Second

// Command returns a command in its own process group. When ctx ends, the whole
// group is interrupted, and killed if it has not ended after Grace.
func Command(ctx context.Context, dir string, env []string, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = env
	cmd.WaitDelay = Grace
	isolate(cmd)
	return cmd
}
