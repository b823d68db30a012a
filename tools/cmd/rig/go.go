package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"mongofork/tools/rig/drivermod"
)

type goCmd struct {
	rigFlags
	Module    string   `arg:"" placeholder:"FOLDER" help:"Folder of the module below the root, such as contrib/otel."`
	Arguments []string `arg:"" passthrough:"" placeholder:"ARGUMENT" help:"Arguments of the go command, such as: test ./..."`
}

// Run runs the go command.
func (c *goCmd) Run(ctx context.Context) error {
	root, err := c.root()
	if err != nil {
		return err
	}
	arguments, err := c.arguments(root)
	if err != nil {
		return err
	}
	return passThrough(ctx, filepath.Join(root, filepath.FromSlash(c.Module)), []string{"GOWORK=off"}, append([]string{"go"}, arguments...))
}

// arguments returns the arguments with the flags that replace the fork named by the module with that of the base.
func (c *goCmd) arguments(root string) ([]string, error) {
	arguments := c.Arguments
	if arguments[0] == "--" {
		arguments = arguments[1:]
	}
	if len(arguments) == 0 {
		return nil, errors.New("no command for go, such as test; see rig go --help")
	}
	fork := filepath.Join(root, "build", c.Base)
	if _, err := os.Stat(fork); err != nil {
		return nil, fmt.Errorf("the fork is not built; run: make fork BASE=%s: %w", c.Base, err)
	}
	copies := filepath.Join(root, "build", "modfiles", c.Base, filepath.FromSlash(c.Module))
	flags, err := drivermod.Flags(filepath.Join(root, filepath.FromSlash(c.Module)), fork, copies)
	if err != nil {
		return nil, err
	}
	return append(append([]string{arguments[0]}, flags...), arguments[1:]...), nil
}
