// Package drivers builds a program of this module with different versions of the MongoDB driver.
package drivers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"mongofork/tools/drivermod"
)

// Module is the path of the driver.
const Module = drivermod.Path

// Driver is a driver to build with: a folder that has it, or a released version.
type Driver struct {
	Name    string
	Folder  string // absolute
	Version string // if there is no folder
}

// Builder builds the programs of a module.
type Builder struct {
	Module  string   // the folder of go.mod
	Temp    string   // an existing folder for go.mod files and programs
	Environ []string // of the go command
}

// Build builds a package of the module, given as its folder, with a driver. It returns the path of the program.
func (b Builder) Build(ctx context.Context, d Driver, folder string, flags ...string) (string, error) {
	name, err := b.Modfile(ctx, d)
	if err != nil {
		return "", err
	}
	program := filepath.Join(b.Temp, d.Name, filepath.Base(filepath.Join(b.Module, folder)))
	args := append([]string{"build", "-modfile", name, "-o", program}, flags...)
	if _, err := b.Go(ctx, append(args, "./"+filepath.ToSlash(folder))...); err != nil {
		return "", fmt.Errorf("build with %s: %w", d.Name, err)
	}
	return program, nil
}

// Modfile writes a go.mod that has the driver in place of the module's own, and returns its path.
func (b Builder) Modfile(ctx context.Context, d Driver) (string, error) {
	to := filepath.Join(b.Temp, d.Name)
	if err := os.MkdirAll(to, 0o700); err != nil {
		return "", err
	}
	name, err := drivermod.Copy(b.Module, to, d.use)
	if err != nil {
		return "", err
	}
	if d.Folder == "" {
		// The sums of a released version are not among the module's; the go command gets and verifies them.
		_, err = b.Go(ctx, "get", "-modfile", name, Module+"/mongo@"+d.Version)
	} else {
		// A driver of another version may need other modules than the module's go.mod has.
		_, err = b.Go(ctx, "list", "-mod=mod", "-modfile", name, "-deps", "./...")
	}
	return name, err
}

// use makes a go.mod use the driver.
func (d Driver) use(module *modfile.File) error {
	if err := module.DropReplace(Module, ""); err != nil {
		return err
	}
	if d.Folder == "" {
		return module.AddRequire(Module, d.Version)
	}
	_, err := os.Stat(filepath.Join(d.Folder, "go.mod"))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the driver %q is not in %s; to build it, run: make bench-drivers", d.Name, d.Folder)
	}
	if err != nil {
		return err
	}
	return module.AddReplace(Module, "", d.Folder, "")
}

// Go runs the go command in the module and returns what it prints. The error of one that failed has its messages.
func (b Builder) Go(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	// No go.work above the repository must draw the modules in.
	cmd.Dir, cmd.Env = b.Module, slices.Concat(b.Environ, []string{"GOWORK=off"})
	var output, messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &messages
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", fmt.Errorf("go %s, in %s: %w\n%s", strings.Join(args, " "), b.Module, err, bytes.TrimSpace(messages.Bytes()))
	}
	return output.String(), nil
}
