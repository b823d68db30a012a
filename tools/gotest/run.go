package gotest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"mongofork/tools/rig/process"
)

// Command is one run of "go test -json".
type Command struct {
	// Dir is the folder of the module.
	Dir string
	// Env is the whole environment of the run.
	Env []string
	// Flags are further flags of go test, such as -race.
	Flags []string
	// Run is the argument of -run. Empty runs every test.
	Run string
	// Packages are the packages to test.
	Packages []string
	// Timeout limits each test binary; zero leaves the default of go test, ten minutes.
	Timeout time.Duration
}

// Args returns the arguments of the go command. Test results are never taken
// from the cache.
func (c Command) Args() []string {
	args := []string{"test", "-json", "-count=1"}
	args = append(args, c.Flags...)
	if c.Timeout > 0 {
		args = append(args, "-timeout="+c.Timeout.String())
	}
	if c.Run != "" {
		args = append(args, "-run="+c.Run)
	}
	return append(args, c.Packages...)
}

// Runner runs go test.
type Runner interface {
	// Test runs the command and calls onEnd, which may be nil, whenever a test or package ends. It is an error if no test could
	// be run, but not if tests fail.
	Test(ctx context.Context, c Command, onEnd func(Key, Outcome)) (*Result, error)
}

// Go runs the go command found on the PATH.
type Go struct{}

// Test implements Runner.
func (Go) Test(ctx context.Context, c Command, onEnd func(Key, Outcome)) (*Result, error) {
	cmd := process.Command(ctx, c.Dir, c.Env, "go", c.Args()...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("run go test: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("run go test: %w", err)
	}
	defer process.Reap(cmd)
	result, parseErr := Parse(stdout, onEnd)
	waitErr := cmd.Wait()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("go test was interrupted: %w", err)
	}
	if parseErr != nil {
		return nil, parseErr
	}
	return result, unexplained(waitErr, result, stderr.String())
}

// unexplained returns an error if go test failed although no test did: then the go command itself failed.
func unexplained(waitErr error, result *Result, stderr string) error {
	if waitErr == nil {
		return nil
	}
	var exit *exec.ExitError
	if errors.As(waitErr, &exit) && result.Count().Failed > 0 {
		return nil
	}
	said := strings.TrimSpace(stderr + "\n" + strings.Join(result.Stray, "\n"))
	return fmt.Errorf("go test: %w: %s", waitErr, said)
}
