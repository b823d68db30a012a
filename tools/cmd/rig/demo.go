package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"mongofork/tools/rig/demo"
	"mongofork/tools/rig/labrun"
	"mongofork/tools/rig/server"
	"mongofork/tools/rig/suite"
)

type demoCmd struct {
	rigFlags
	Workers    int   `default:"8" help:"Workers that use the server at the same time."`
	Operations int   `default:"1200" help:"Their operations in each of the four runs."`
	Seed       int64 `default:"1" help:"Seed of the workers' choices."`
}

// Run compares the fork with upstream's driver on a replica set that sheds load.
func (c *demoCmd) Run(ctx context.Context) error {
	root, err := c.root()
	if err != nil {
		return err
	}
	env := append(os.Environ(), "GOWORK=off")
	builder := labrun.Builder{Root: root, Env: env, Tools: suite.OSTools{}}
	err = demo.Run(ctx, demo.Config{
		Root: root, Base: c.Base, Workers: c.Workers, Operations: c.Operations, Seed: c.Seed,
		BuildFork: func(ctx context.Context) error {
			_, err := newBuilder(root).Build(ctx, c.Base)
			return err
		},
		OpenLab: func(ctx context.Context) ([]string, func() error, error) {
			binary, err := builder.Build(ctx, "build/"+c.Base, labrun.Command)
			if err != nil {
				return nil, nil, err
			}
			return openDemoLab(ctx, root, binary, env)
		},
		Environ: os.Environ(), Output: os.Stdout, Progress: os.Stderr,
	})
	if errors.Is(err, demo.ErrNotBetter) {
		return fmt.Errorf("%w: %w", errFailed, err) // the verdict has been printed
	}
	return err
}

// openDemoLab starts a lab before real members, or else before one server. What it returns ends both.
func openDemoLab(ctx context.Context, root, binary string, env []string) ([]string, func() error, error) {
	config := server.Config{Root: root, Progress: os.Stderr}
	mongod, err := server.MembersBinary(ctx, config)
	// An interrupt leaves the lab to the demo, which ends the limits on it first.
	serving := context.WithoutCancel(ctx)
	if err == nil {
		fmt.Fprintln(os.Stderr, "starting three real members, and the lab before them")
		l, err := labrun.ServeMembers(serving, binary, env, mongod, filepath.Join(root, "build", "server"))
		if err != nil {
			return nil, nil, err
		}
		return l.Env, l.Close, nil
	}
	if !errors.Is(err, server.ErrUnavailable) {
		return nil, nil, err
	}
	config.BehindLab = true
	s, err := server.Open(ctx, config)
	if err != nil {
		return nil, nil, err
	}
	fmt.Fprintln(os.Stderr, "starting the lab, which makes a replica set of that server")
	l, err := labrun.Serve(serving, binary, env, "replicaset:3", s.URI)
	if err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	return l.Env, func() error { return errors.Join(l.Close(), s.Close()) }, nil
}
