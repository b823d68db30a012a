// Package labrun builds the overload lab, a separate module, and runs it in front of a server.
package labrun

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"mongofork/tools/rig/drivermod"
)

// Runner runs a command and returns what it wrote. suite.Tools is one.
type Runner interface {
	Run(ctx context.Context, dir string, env []string, name string, args ...string) (string, error)
}

// Builder builds the lab.
type Builder struct {
	// Root is the root of the repository.
	Root string
	// Env is the environment of the go command.
	Env   []string
	Tools Runner
}

// Programs of the lab's module.
const (
	// Command is the lab.
	Command = "lab"
	// LimitsCommand needs the fork; upstream's driver lacks what it uses.
	LimitsCommand = "limits"
)

// Build builds a program of the lab's module with the driver in a folder below the root, such as build/v2.5.0, and returns
// the binary's path. It writes below build/labs.
func (b Builder) Build(ctx context.Context, driver, program string) (string, error) {
	module := filepath.Join(b.Root, "lab")
	out := filepath.Join(b.Root, "build", "labs", filepath.FromSlash(driver))
	if err := os.MkdirAll(out, 0o755); err != nil {
		return "", err
	}
	replaced, _, err := drivermod.Replace(module, filepath.Join(b.Root, filepath.FromSlash(driver)), out)
	if err != nil {
		return "", err
	}
	// Given a folder, the go command adds the system's suffix for executables.
	target := out + string(filepath.Separator)
	// Another version of the driver may want other versions of its dependencies; the copy of go.mod may say so.
	build := []string{"build", "-mod=mod", "-modfile", replaced, "-o", target, "./cmd/" + program}
	if _, err := b.Tools.Run(ctx, module, b.Env, "go", build...); err != nil {
		return "", fmt.Errorf("build %s with %s: %w", program, driver, err)
	}
	found, err := filepath.Glob(filepath.Join(out, program+"*"))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("build %s with %s: want one binary in %s, found %q", program, driver, out, found)
	}
	return found[0], nil
}
