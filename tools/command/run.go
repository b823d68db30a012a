package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// RunFunc runs a command in dir with env added to the environment and
// returns its standard output.
type RunFunc func(ctx context.Context, dir string, env []string, name string, args ...string) ([]byte, error)

// Output is the RunFunc of this machine. The error of a failed command has its standard error.
func Output(ctx context.Context, dir string, env []string, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		err = fmt.Errorf("%s: %w: %s", strings.Join(append([]string{name}, args[:min(1, len(args))]...), " "), err, exit.Stderr)
	}
	return out, err
}
