// Package lab builds the overload lab, which is a module of its own, and runs it in front of a server.
package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/mod/modfile"
)

// driverModule is the module that the lab is built with the fork or upstream of.
const driverModule = "go.mongodb.org/mongo-driver/v2"

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

// Build builds the lab with the driver in a folder below the root, such as build/v2.5.0, and returns the binary's path.
// It writes below build/labs.
func (b Builder) Build(ctx context.Context, driver string) (string, error) {
	module := filepath.Join(b.Root, "lab")
	out := filepath.Join(b.Root, "build", "labs", filepath.FromSlash(driver))
	if err := os.MkdirAll(out, 0o755); err != nil {
		return "", err
	}
	replaced, err := writeModfile(module, filepath.Join(b.Root, filepath.FromSlash(driver)), out)
	if err != nil {
		return "", err
	}
	// Told a folder, the go command adds the system's suffix for executables.
	target := out + string(filepath.Separator)
	// Another version of the driver may want other versions of its dependencies; the copy of go.mod may say so.
	build := []string{"build", "-mod=mod", "-modfile", replaced, "-o", target, "./cmd/lab"}
	if _, err := b.Tools.Run(ctx, module, b.Env, "go", build...); err != nil {
		return "", fmt.Errorf("build the lab with %s: %w", driver, err)
	}
	found, err := filepath.Glob(filepath.Join(out, "lab*"))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("build the lab with %s: want one binary in %s, found %q", driver, out, found)
	}
	return found[0], nil
}

// writeModfile writes the module's go.mod with another folder for the driver, and its go.sum beside it, to dir.
func writeModfile(module, driver, dir string) (string, error) {
	source := filepath.Join(module, "go.mod")
	content, err := os.ReadFile(source)
	if err != nil {
		return "", err
	}
	parsed, err := modfile.Parse(source, content, nil)
	if err != nil {
		return "", err
	}
	if err := parsed.AddReplace(driverModule, "", driver, ""); err != nil {
		return "", err
	}
	replaced, err := parsed.Format()
	if err != nil {
		return "", err
	}
	sums, err := os.ReadFile(filepath.Join(module, "go.sum"))
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "go.mod")
	if err := os.WriteFile(path, replaced, 0o600); err != nil {
		return "", err
	}
	return path, os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o600)
}
