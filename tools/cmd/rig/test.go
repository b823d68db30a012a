package main

import (
	"context"
	"io"
	"time"

	"mongofork/tools/rig/suite"
)

type testCmd struct {
	Only []string `sep:"," enum:"${suites}" placeholder:"SUITE" help:"Run only these suites: ${suites}. The last two run only if they are named."`
	Race bool     `help:"Run the overlay's tests with the race detector, which needs a C compiler."`
}

// Run runs the suites and prints the report.
func (c *testCmd) Run(ctx context.Context, rig *suite.Rig, stdout io.Writer) error {
	if len(c.Only) == 0 {
		c.Only = suite.Default
	}
	rig.Race = c.Race
	start := time.Now()
	results, err := rig.Run(ctx, c.Only)
	rig.Log.Printf("total: %v", time.Since(start).Round(time.Second))
	if err != nil {
		return err
	}
	return suite.Write(stdout, results)
}

type packagesCmd struct {
	Tree     string   `arg:"" help:"The tree, below the root of the repository."`
	Packages []string `arg:"" name:"package" help:"Packages in it, such as ./mongo."`
}

// Run runs the tests and prints the report.
func (c *packagesCmd) Run(ctx context.Context, rig *suite.Rig, stdout io.Writer) error {
	results, err := rig.Packages(ctx, c.Tree, c.Packages)
	if err != nil {
		return err
	}
	return suite.Write(stdout, results)
}
