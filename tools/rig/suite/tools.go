package suite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"mongofork/tools/redact"
	"mongofork/tools/rig/process"
)

// OSTools runs commands of the operating system.
type OSTools struct{}

// Run implements Tools. The error of a failed command has its output. Neither has the passwords of connection strings.
func (OSTools) Run(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	cmd := process.Command(ctx, dir, env, name, args...)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	err := cmd.Run()
	process.Reap(cmd)
	if ctxErr := ctx.Err(); ctxErr != nil {
		err = errors.Join(ctxErr, err)
	}
	said := redact.URIs(output.String())
	if err != nil {
		line := redact.URIs(strings.Join(append([]string{name}, args...), " "))
		return said, fmt.Errorf("%s: %w\n%s", line, err, strings.TrimSpace(said))
	}
	return said, nil
}
