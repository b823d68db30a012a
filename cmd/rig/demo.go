package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"mongofork/internal/rig/demo"
	"mongofork/internal/rig/lab"
	"mongofork/internal/rig/server"
	"mongofork/internal/rig/suite"
)

type demoCmd struct {
	rigFlags
	Workers    int   `default:"8" help:"How many workers use the server at the same time."`
	Operations int   `default:"1200" help:"How many operations they do in each of the four runs."`
	Seed       int64 `default:"1" help:"What the workers' choices are drawn from."`
}

// Run compares the fork with upstream's driver on a replica set that sheds load.
func (c *demoCmd) Run(ctx context.Context) error {
	root, err := c.root()
	if err != nil {
		return err
	}
	env := append(os.Environ(), "GOWORK=off")
	builder := lab.Builder{Root: root, Env: env, Tools: suite.OSTools{}}
	err = demo.Run(ctx, demo.Config{
		Root: root, Base: c.Base, Workers: c.Workers, Operations: c.Operations, Seed: c.Seed,
		OpenServer: func(ctx context.Context) (*server.Server, error) {
			return server.Open(ctx, server.Config{Root: root, Progress: os.Stderr, BehindLab: true})
		},
		OpenLab: func(ctx context.Context, backend string) (*lab.Lab, error) {
			binary, err := builder.Build(ctx, "build/"+c.Base, lab.Command)
			if err != nil {
				return nil, err
			}
			// An interrupt leaves the lab to the demo, which ends the limits on it first.
			return lab.Serve(context.WithoutCancel(ctx), binary, env, "replicaset:3", backend)
		},
		Environ: os.Environ(), Output: os.Stdout, Progress: os.Stderr,
	})
	if errors.Is(err, demo.ErrNotBetter) {
		return fmt.Errorf("%w: %w", errFailed, err) // the verdict has been printed
	}
	return err
}
