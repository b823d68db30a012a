package forktest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
)

// Run is a command.RunFunc that runs commands.
func Run(ctx context.Context, dir string, env []string, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s %v: %w: %s", name, args, err, stderr.Bytes())
	}
	return out, err
}
