// Package interpreted installs the loads that are written in other languages, with the drivers that their lock files pin.
package interpreted

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Program is a load that is ready to run: an interpreter and its arguments.
type Program struct {
	Path string
	Args []string
}

// Installer installs loads with the clients of their package registries.
type Installer struct {
	Source string // a folder with a folder for each load
	Target string // a folder to install into; what is there is used again while the lock files are the same
}

// PyMongo installs the load with PyMongo. The error is exec.ErrNotFound if there is no Python.
func (i Installer) PyMongo(ctx context.Context) (*Program, error) {
	const name = "pymongo"
	folder := filepath.Join(i.Target, name)
	python := filepath.Join(folder, "venv", "bin", "python")
	err := i.install(ctx, name, "requirements.txt",
		[]string{"python3", "-m", "venv", "venv"},
		[]string{python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:",
			"--require-hashes", "--requirement", "requirements.txt"})
	return &Program{Path: python, Args: []string{filepath.Join(folder, "openloop.py")}}, err
}

// NodeDriver installs the load with the driver for Node.js. The error is exec.ErrNotFound if there is no Node.js or npm.
func (i Installer) NodeDriver(ctx context.Context) (*Program, error) {
	const name = "node"
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, err
	}
	err = i.install(ctx, name, "package-lock.json", []string{"npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"})
	return &Program{Path: node, Args: []string{filepath.Join(i.Target, name, "openloop.js")}}, err
}

// install copies a load, and runs the commands in its folder unless they have run with the same lock file before.
func (i Installer) install(ctx context.Context, name, lock string, commands ...[]string) error {
	source, target := filepath.Join(i.Source, name), filepath.Join(i.Target, name)
	locked, err := os.ReadFile(filepath.Join(source, lock))
	if err != nil {
		return err
	}
	stamp := filepath.Join(target, "installed")
	installed, err := os.ReadFile(stamp)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	done := err == nil && bytes.Equal(installed, locked)
	if !done {
		if err := os.RemoveAll(target); err != nil {
			return err
		}
	}
	if err := copyFiles(source, target); err != nil || done {
		return err
	}
	for _, command := range commands {
		if err := run(ctx, target, command); err != nil {
			return fmt.Errorf("install %s: %w", name, err)
		}
	}
	return os.WriteFile(stamp, locked, 0o644)
}

// copyFiles copies the files of a folder that has no others in it.
func copyFiles(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(from, entry.Name()))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, entry.Name()), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func run(ctx context.Context, folder string, command []string) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = folder
	output, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s, in %s: %w\n%s", strings.Join(command, " "), folder, err, bytes.TrimSpace(output))
	}
	return nil
}
