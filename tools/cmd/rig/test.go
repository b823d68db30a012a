package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"time"

	"mongofork/tools/command"
	"mongofork/tools/fork"
	"mongofork/tools/fork/output"
	"mongofork/tools/fork/upstream"
	"mongofork/tools/gotest"
	"mongofork/tools/rig/server"
	"mongofork/tools/rig/specs"
	"mongofork/tools/rig/suite"
)

type testCmd struct {
	Only []string `sep:"," enum:"${suites}" placeholder:"SUITE" help:"Run only these suites: ${suites}. The last two run only if they are named."`
	Race bool     `help:"Run the overlay's tests with the race detector, which needs a C compiler."`
}

// Run runs the suites and prints the report.
func (c *testCmd) Run(ctx context.Context, r *repository, stdout io.Writer) error {
	if len(c.Only) == 0 {
		c.Only = suite.Names(false)
	}
	rig, err := r.rig()
	if err != nil {
		return err
	}
	rig.Race = c.Race
	start := time.Now()
	ok, err := suite.Write(stdout, rig.Run(ctx, c.Only))
	rig.Log.Printf("total: %v", time.Since(start).Round(time.Second))
	if err == nil && !ok {
		return errFailed
	}
	return err
}

type specificationsCmd struct {
	For string `arg:"" enum:"upstream,fork" help:"Whose tests: of upstream, or of what the fork implements."`
}

// Run prints the folder.
func (c *specificationsCmd) Run(ctx context.Context, r *repository, stdout io.Writer) error {
	rig, err := r.rig()
	if err != nil {
		return err
	}
	project, err := rig.Project(ctx, map[string]string{"upstream": rig.Revisions.Upstream, "fork": rig.Revisions.Fork}[c.For])
	if err == nil {
		_, err = fmt.Fprintln(stdout, project)
	}
	return err
}

// rig wires the suites to this machine.
func (r *repository) rig() (*suite.Rig, error) {
	pins, err := specs.ReadPins(filepath.Join(r.root, "etc", "specifications"))
	if err != nil {
		return nil, err
	}
	revisions, err := specs.ReadBase(filepath.Join(r.root, "etc", "bases", r.base, "specifications"), pins)
	if err != nil {
		return nil, err
	}
	progress := log.New(os.Stderr, "", 0)
	store := &specs.Store{
		Root: r.root, Pins: pins, Local: os.Getenv("SPECIFICATIONS"),
		Repository: specs.Repository, Run: command.Output, Progress: progress.Writer(),
	}
	return &suite.Rig{
		Root: r.root, Base: r.base, Revisions: revisions, CI: os.Getenv("CI") == "true", Environ: os.Environ(),
		Build:   func(ctx context.Context) error { return r.build(ctx, r.base) },
		Project: store.Project, Open: server.Open, GoTest: gotest.Go, Log: progress,
	}, nil
}

// build writes the fork of a base to build/<base>, and the untouched module to build/pristine/<base>.
func (r *repository) build(ctx context.Context, base string) error {
	project := &fork.Project{Root: r.root, Base: base, Source: upstream.ModuleCache{Run: command.Output}}
	if err := project.RefuseOpen(); err != nil {
		return err
	}
	_, forked, err := project.Assemble(ctx)
	if err != nil {
		return fmt.Errorf("build the fork of %s: %w", base, err)
	}
	pristine, err := project.Pristine(ctx)
	if err != nil {
		return err
	}
	_, err = output.Below(r.root, base).Write(forked, false)
	_, pristineErr := output.Below(r.root, "pristine", base).Write(pristine, false)
	return errors.Join(err, pristineErr)
}
