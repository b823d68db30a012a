package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"time"

	"mongofork/internal/command"
	"mongofork/internal/rig/lab"
	"mongofork/internal/rig/process"
	"mongofork/internal/rig/server"
	"mongofork/internal/rig/suite"
)

type soakCmd struct {
	rigFlags
	Seed     uint64        `placeholder:"N" help:"Of the plan of what goes wrong. 0 takes any, and prints it."`
	Duration time.Duration `default:"2m" help:"How long the application works, with each driver."`
	ForkOnly bool          `help:"Run with the fork only, not with the untouched driver."`
}

// Run runs the soak with each driver, on a server of its own, and the same plan of what goes wrong. The fork decides on
// the exit code; the untouched driver is there for comparison.
func (c *soakCmd) Run(ctx context.Context) error {
	if c.Seed == 0 {
		c.Seed = rand.Uint64()
	}
	rig, err := c.open()
	if err != nil {
		return err
	}
	builder := lab.Builder{Root: rig.Root, Env: append(os.Environ(), "GOWORK=off"), Tools: suite.OSTools{}}
	fork, upstream, err := rig.BuildTrees(ctx)
	if err != nil {
		return err
	}
	if !c.ForkOnly {
		fmt.Printf("untouched %s\n", c.Base)
		if err := c.arm(ctx, rig.Root, builder, upstream); err != nil && !errors.Is(err, errFailed) {
			return err
		}
	}
	fmt.Printf("the fork of %s\n", c.Base)
	return c.arm(ctx, rig.Root, builder, fork)
}

// arm runs the soak with one driver.
func (c *soakCmd) arm(ctx context.Context, root string, builder lab.Builder, driver string) (err error) {
	binary, err := builder.Build(ctx, driver, lab.Command)
	if err != nil {
		return err
	}
	s, err := server.Open(ctx, server.Config{Root: root, Progress: os.Stderr, BehindLab: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	cmd := process.Command(ctx, "", withServer(builder.Env, s.URI), binary, "soak",
		"--seed", strconv.FormatUint(c.Seed, 10), "--duration", c.Duration.String())
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	err = cmd.Run()
	process.Reap(cmd)
	var failed *exec.ExitError
	if errors.As(err, &failed) && failed.ExitCode() == command.ExitFailed {
		return errFailed // its report says why
	}
	return err
}
