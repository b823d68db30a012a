package suite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"mongofork/internal/rig/process"
)

// OSTools runs commands of the operating system.
type OSTools struct{}

// Run implements Tools. The error of a command that failed has its output.
func (OSTools) Run(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	cmd := process.Command(ctx, dir, env, name, args...)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	err := cmd.Run()
	process.Reap(cmd)
	if ctxErr := ctx.Err(); ctxErr != nil {
		err = errors.Join(ctxErr, err)
	}
	if err != nil {
		return output.String(), fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, strings.TrimSpace(output.String()))
	}
	return output.String(), nil
}
