package main

import (
	"context"
	"fmt"
	"os"

	"mongofork/tools/fork"
	"mongofork/tools/rig/server"
)

type mongodCmd struct{}

// Run installs the pinned mongod if necessary, and prints its path.
func (c *mongodCmd) Run(ctx context.Context) error {
	root, err := fork.FindRoot(".")
	if err != nil {
		return err
	}
	binary, err := server.InstallMongod(ctx, server.Config{Root: root, Progress: os.Stderr})
	if err != nil {
		return err
	}
	_, err = fmt.Println(binary)
	return err
}
