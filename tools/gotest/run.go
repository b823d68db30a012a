package gotest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"mongofork/tools/rig/process"
)

// Command is one run of "go test -json".
type Command struct {
	// Dir is the folder of the module, Env the whole environment.
	Dir string
	Env []string
	// Flags are further flags of go test, such as -race.
	Flags []string
	// Run is the argument of -run. Empty runs every test.
	Run string
	// Through, unless empty, is a program with its first arguments that runs the go command, and passes its output through.
	Through []string
	// Packages are the packages to test.
	Packages []string
}

// timeout limits each test binary. Upstream's tests take three minutes on an idle machine, and ten times that on a busy one.
const timeout = "1h"

// args returns the arguments of the go command.
func (c Command) args() []string {
	args := append([]string{"test", "-json", "-timeout=" + timeout}, c.Flags...)
	if c.Run != "" {
		args = append(args, "-run="+c.Run)
	}
	return append(args, c.Packages...)
}

// Go runs the command with the go command on the PATH. It is an error if no test could be run, but not if tests fail.
func Go(ctx context.Context, c Command) (Result, error) {
	words := slices.Concat(c.Through, []string{"go"}, c.args())
	cmd := process.Command(ctx, c.Dir, c.Env, words[0], words[1:]...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("run go test: %w", err)
	}
	defer process.Reap(cmd)
	result, stray, err := parse(stdout)
	err = errors.Join(err, cmd.Wait(), ctx.Err())
	var exit *exec.ExitError
	if err == nil || ctx.Err() == nil && errors.As(err, &exit) && result.Count(Failed) > 0 {
		return result, nil
	}
	// No test failed, so the go command itself did.
	return nil, fmt.Errorf("go test: %w: %s", err, strings.TrimSpace(stderr.String()+"\n"+stray))
}

// Pattern returns the argument of -run that selects exactly the named test or subtest.
func Pattern(test string) string {
	elements := strings.Split(test, "/")
	for i, element := range elements {
		elements[i] = "^" + regexp.QuoteMeta(element) + "$"
	}
	return strings.Join(elements, "/")
}

// AnyOf returns the argument of -run that selects exactly the named test functions.
func AnyOf(functions []string) string { return "^(" + strings.Join(functions, "|") + ")$" }

// Fresh is the flag that takes no result from Go's cache of tests.
const Fresh = "-count=1"

// Only returns the command for some tests alone, fresh.
func (c Command) Only(cases []Case) Command {
	c.Packages, c.Flags = nil, append(slices.Clip(c.Flags), Fresh)
	patterns := make([]string, len(cases))
	for i, test := range cases {
		patterns[i] = Pattern(test.Test)
		c.Packages = append(c.Packages, test.Package)
	}
	slices.Sort(c.Packages)
	c.Packages = slices.Compact(c.Packages)
	c.Run = strings.Join(patterns, "|")
	return c
}
