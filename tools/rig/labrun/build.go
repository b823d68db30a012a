// Package labrun builds the programs of the overload lab, which are modules of their own, and runs the lab in front of a server.
package labrun

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"mongofork/tools/drivermod"
)

// Runner runs a command and returns what it wrote. suite.Tools is one.
type Runner interface {
	Run(ctx context.Context, dir string, env []string, name string, args ...string) (string, error)
}

// Builder builds the lab's programs.
type Builder struct {
	// Root is the root of the repository.
	Root string
	// Env is the environment of the go command.
	Env   []string
	Tools Runner
}

// Programs, by their folders below the root.
const (
	// Command is the lab.
	Command = "lab/cmd/lab"
	// LimitsCommand needs the fork; upstream's driver lacks what it uses.
	LimitsCommand = "lab/limits"
)

// Build builds a program with the driver in a folder below the root, such as build/v2.5.0, and returns the binary's path. It
// writes below build/labs.
func (b Builder) Build(ctx context.Context, driver, program string) (string, error) {
	name := path.Base(program)
	out := filepath.Join(b.Root, "build", "labs", filepath.FromSlash(driver), name)
	if err := os.MkdirAll(out, 0o755); err != nil {
		return "", err
	}
	folder := filepath.Join(b.Root, filepath.FromSlash(program))
	module, err := drivermod.Module(folder)
	if err != nil {
		return "", err
	}
	replaced, _, err := drivermod.Replace(module, filepath.Join(b.Root, filepath.FromSlash(driver)), out)
	if err != nil {
		return "", err
	}
	// Given a folder, the go command adds the system's suffix for executables.
	target := out + string(filepath.Separator)
	// Another version of the driver may want other versions of its dependencies; the copy of go.mod may say so.
	build := []string{"build", "-mod=mod", "-modfile", replaced, "-o", target, "."}
	if _, err := b.Tools.Run(ctx, folder, b.Env, "go", build...); err != nil {
		return "", fmt.Errorf("build %s with %s: %w", name, driver, err)
	}
	found, err := filepath.Glob(filepath.Join(out, name+"*"))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("build %s with %s: want one binary in %s, found %q", name, driver, out, found)
	}
	return found[0], nil
}
