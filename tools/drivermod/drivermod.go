// Package drivermod builds a module with another driver than its go.mod says, without changing the file.
package drivermod

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/mod/modfile"
)

// Path is the module path of upstream's driver, and so of the fork.
const Path = "go.mongodb.org/mongo-driver/v2"

// Replace writes a copy of the go.mod of the module in a folder to another folder, with a replace line for the driver, and its
// go.sum beside it, where the go command looks for it when -modfile names the copy. It returns the copy's path.
func Replace(module, driver, to string) (path string, err error) {
	source := filepath.Join(module, "go.mod")
	content, err := os.ReadFile(source)
	if err != nil {
		return "", err
	}
	sums, err := os.ReadFile(filepath.Join(module, "go.sum"))
	if err != nil {
		return "", err
	}
	parsed, err := modfile.Parse(source, content, nil)
	if err != nil {
		return "", err
	}
	if err := parsed.AddReplace(Path, "", driver, ""); err != nil {
		return "", err
	}
	changed, err := parsed.Format()
	if err != nil {
		return "", err
	}
	path = filepath.Join(to, "go.mod")
	if err := os.WriteFile(path, changed, 0o600); err != nil {
		return "", err
	}
	return path, os.WriteFile(filepath.Join(to, "go.sum"), sums, 0o600)
}

// Build builds a program of the module in a folder with a driver: by "build", or by "test" and "-c". The go.mod that it uses is
// written beside the program.
func Build(ctx context.Context, module, driver, program, pkg string, command ...string) error {
	driver, driverErr := filepath.Abs(driver)
	program, err := filepath.Abs(program)
	folder := filepath.Dir(program)
	if err := errors.Join(driverErr, err, os.MkdirAll(folder, 0o755)); err != nil {
		return err
	}
	modfile, err := Replace(module, driver, folder)
	if err != nil {
		return err
	}
	// A driver of another version may need other modules than go.mod has, hence -mod.
	cmd := exec.CommandContext(ctx, "go", append(command, "-mod=mod", "-modfile", modfile, "-o", program, pkg)...)
	cmd.Dir, cmd.Env = module, append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s with the driver in %s: %w\n%s", pkg, driver, err, bytes.TrimSpace(output))
	}
	return nil
}
