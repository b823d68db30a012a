package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"mongofork/tools/command"
	"mongofork/tools/fork"
	"mongofork/tools/rig/labrun"
	"mongofork/tools/rig/process"
	"mongofork/tools/rig/server"
	"mongofork/tools/rig/suite"
)

type soakCmd struct {
	rigFlags
	Seed     uint64        `placeholder:"N" help:"Seed of the plan of faults. 0 takes any, and prints it."`
	Seeds    int           `default:"1" placeholder:"N" help:"Number of plans, from this seed on. They share the duration."`
	Duration time.Duration `default:"2m" help:"How long the applications work: on real members all drivers at the same time, otherwise each."`
	ForkOnly bool          `help:"Run only with the fork of this base, not with the other forks and the untouched drivers."`
	Markdown bool          `help:"Write the table as Markdown."`
}

// Run runs the soak with each driver, by the same plans. The fork decides on the exit code; the untouched drivers are there for
// comparison.
func (c *soakCmd) Run(ctx context.Context) error {
	if c.Seed == 0 {
		c.Seed = rand.Uint64()
	}
	root, err := c.root()
	if err != nil {
		return err
	}
	mongod, err := server.MembersBinary(ctx, server.Config{Root: root, Progress: os.Stderr})
	if errors.Is(err, server.ErrUnavailable) {
		fmt.Fprintf(os.Stderr, "%v; the lab makes a replica set of one server\n", err)
		return c.onOneServer(ctx)
	}
	if err != nil {
		return err
	}
	return c.onMembers(ctx, root, mongod)
}

// onMembers runs all drivers on the same real members.
func (c *soakCmd) onMembers(ctx context.Context, root, mongod string) error {
	bases := []string{c.Base}
	if !c.ForkOnly {
		var err error
		if bases, err = (&fork.Project{Root: root}).Bases(); err != nil {
			return err
		}
	}
	args := []string{
		"soak", "--mongod", mongod, "--dir", filepath.Join(root, "build", "server"), "--seed", strconv.FormatUint(c.Seed, 10),
		"--seeds", strconv.Itoa(c.Seeds), "--duration", c.Duration.String(),
	}
	if c.Markdown {
		args = append(args, "--markdown")
	}
	if err := os.MkdirAll(filepath.Join(root, "build", "server"), 0o755); err != nil {
		return err
	}
	var conductor string
	for _, base := range bases {
		forked, upstream, err := c.build(ctx, root, base)
		if err != nil {
			return err
		}
		args = append(args, "--fork", "fork of "+base+"="+forked)
		if !c.ForkOnly {
			args = append(args, "--other", base+"="+upstream)
		}
		if base == c.Base {
			conductor = forked
		}
	}
	return c.program(ctx, nil, conductor, args...)
}

// build builds the lab with the fork of a base and, if wanted, with its untouched driver.
func (c *soakCmd) build(ctx context.Context, root, base string) (forked, upstream string, err error) {
	rig, err := newRig(root, base, os.Stderr)
	if err != nil {
		return "", "", err
	}
	forkTree, upstreamTree, err := rig.BuildTrees(ctx)
	if err != nil {
		return "", "", err
	}
	builder := labrun.Builder{Root: root, Env: append(os.Environ(), "GOWORK=off"), Tools: suite.OSTools{}}
	if forked, err = builder.Build(ctx, forkTree, labrun.Command); err != nil || c.ForkOnly {
		return forked, "", err
	}
	upstream, err = builder.Build(ctx, upstreamTree, labrun.Command)
	return forked, upstream, err
}

// onOneServer runs one driver after the other, each on its own server.
func (c *soakCmd) onOneServer(ctx context.Context) error {
	root, err := c.root()
	if err != nil {
		return err
	}
	forked, upstream, err := c.build(ctx, root, c.Base)
	if err != nil {
		return err
	}
	if !c.ForkOnly {
		fmt.Printf("untouched %s\n", c.Base)
		if err := c.arm(ctx, root, upstream); err != nil && !errors.Is(err, errFailed) {
			return err
		}
	}
	fmt.Printf("the fork of %s\n", c.Base)
	return c.arm(ctx, root, forked)
}

// arm runs the soak with one driver.
func (c *soakCmd) arm(ctx context.Context, root, binary string) (err error) {
	s, err := server.Open(ctx, server.Config{Root: root, Progress: os.Stderr, BehindLab: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return c.program(ctx, withServer(append(os.Environ(), "GOWORK=off"), s.URI), binary, "soak",
		"--seed", strconv.FormatUint(c.Seed, 10), "--duration", c.Duration.String())
}

// program runs a program whose report says why it fails.
func (c *soakCmd) program(ctx context.Context, env []string, binary string, args ...string) error {
	cmd := process.Command(ctx, "", env, binary, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	err := cmd.Run()
	process.Reap(cmd)
	var failed *exec.ExitError
	if errors.As(err, &failed) && failed.ExitCode() == command.ExitFailed {
		return errFailed
	}
	return err
}
