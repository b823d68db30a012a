package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"time"

	"mongofork/tools/command"
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
		c.Only = suite.Default
	}
	rig, err := r.rig()
	if err != nil {
		return err
	}
	rig.Race = c.Race
	start := time.Now()
	results, err := rig.Run(ctx, c.Only)
	rig.Log.Printf("total: %v", time.Since(start).Round(time.Second))
	return report(stdout, results, err)
}

// report writes the report, unless there is none.
func report(stdout io.Writer, results []suite.Result, err error) error {
	if err != nil {
		return err
	}
	ok, err := suite.Write(stdout, results)
	if err == nil && !ok {
		return errFailed
	}
	return err
}

type packagesCmd struct {
	Tree     string   `arg:"" help:"The tree, below the root of the repository."`
	Packages []string `arg:"" name:"package" help:"Packages in it, such as ./mongo."`
}

// Run runs the tests and prints the report.
func (c *packagesCmd) Run(ctx context.Context, r *repository, stdout io.Writer) error {
	rig, err := r.rig()
	if err != nil {
		return err
	}
	results, err := rig.Packages(ctx, c.Tree, c.Packages)
	return report(stdout, results, err)
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
		Project: store.Project, Open: server.Open, GoTest: gotest.Go, Log: progress,
	}, nil
}
