package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mongofork/tools/fork"
	"mongofork/tools/redact"
	"mongofork/tools/rig/report"
	"mongofork/tools/rig/suite"
)

// rigFlags are common to the commands that run suites.
type rigFlags struct {
	Base string `env:"BASE" default:"v2.5.0" help:"Version of upstream that the fork is built on."`
}

// root returns the root of the repository around the working directory, after checking that it has the base.
func (f rigFlags) root() (string, error) {
	root, err := fork.FindRoot(".")
	if err != nil {
		return "", err
	}
	bases, err := (&fork.Project{Root: root}).Bases()
	if err != nil {
		return "", err
	}
	if !slices.Contains(bases, f.Base) {
		return "", fmt.Errorf("there is no base %q; name one with BASE or --base: %s", f.Base, strings.Join(bases, ", "))
	}
	return root, nil
}

type testCmd struct {
	rigFlags
	Only []string `sep:"," placeholder:"SUITE" help:"Run only these suites: check, unit, modules, fork, upstream, spec, soak, limits."`
}

// Validate is called by kong.
func (c *testCmd) Validate() error {
	for _, name := range c.Only {
		if !slices.Contains(suite.Names(), name) {
			return fmt.Errorf("--only: there is no suite %q; there are %s", name, strings.Join(suite.Names(), ", "))
		}
	}
	return nil
}

// Run runs the suites.
func (c *testCmd) Run(ctx context.Context) error {
	names := c.Only
	if len(names) == 0 {
		names = suite.Names()
	}
	return c.run(ctx, names, suite.Options{})
}

type quickCmd struct{ rigFlags }

// Run runs what needs neither a server nor the race detector.
func (c *quickCmd) Run(ctx context.Context) error {
	return c.run(ctx, []string{"check", "fork"}, suite.Options{Quick: true})
}

type upstreamCmd struct{ rigFlags }

// Run runs the suite "upstream".
func (c *upstreamCmd) Run(ctx context.Context) error {
	return c.run(ctx, []string{"upstream"}, suite.Options{})
}

type specCmd struct {
	rigFlags
	Revision string `placeholder:"NAME" help:"Run only the tests of this revision of the specifications, such as 2026-03-12."`
	File     string `placeholder:"NAME" help:"Run only the test file of this name, such as getMore-retried. Needs --revision."`
}

// Validate is called by kong.
func (c *specCmd) Validate() error {
	if c.File != "" && c.Revision == "" {
		return errors.New("--file needs --revision")
	}
	return nil
}

// Run runs the suite "spec".
func (c *specCmd) Run(ctx context.Context) error {
	return c.run(ctx, []string{"spec"}, suite.Options{Revision: c.Revision, File: c.File})
}

// throttledFile names the tests that may fail with adaptiveThrottling: each line has the name of a test, or of its file, and the
// reason.
const throttledFile = "etc/throttled"

type throttlingCmd struct{ rigFlags }

// Run runs the fork's tests, and the specification's tests about overload, with adaptiveThrottling on.
func (c *throttlingCmd) Run(ctx context.Context) error {
	rig, err := c.open()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(rig.Root, filepath.FromSlash(throttledFile)))
	if err != nil {
		return err
	}
	exceptions, err := suite.ParseExceptions(string(text))
	if err != nil {
		return fmt.Errorf("%s, %w", throttledFile, err)
	}
	rig.UseURIOptions("adaptiveThrottling=true")
	return runSuites(ctx, rig, []string{"fork", "spec"}, suite.Options{Throttled: true, Except: exceptions})
}

// run runs the named suites and prints the report.
func (f rigFlags) run(ctx context.Context, names []string, options suite.Options) error {
	rig, err := f.open()
	if err != nil {
		return err
	}
	return runSuites(ctx, rig, names, options)
}

func runSuites(ctx context.Context, rig *suite.Rig, names []string, options suite.Options) error {
	start := time.Now()
	suites := rig.Run(ctx, names, options)
	fmt.Fprintf(os.Stderr, "total: %v\n", time.Since(start).Round(time.Second))
	return finish(os.Stdout, suites)
}

// open returns the rig of the repository around the working directory.
func (f rigFlags) open() (*suite.Rig, error) {
	root, err := f.root()
	if err != nil {
		return nil, err
	}
	return newRig(root, f.Base, os.Stderr)
}

// finish prints the report, without the passwords of connection strings.
func finish(out io.Writer, suites []report.Suite) error {
	// A test's output may contain the server's connection string.
	var text strings.Builder
	err := report.Write(&text, suites)
	if err == nil {
		_, err = io.WriteString(out, redact.URIs(text.String()))
	}
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if report.Sum(suites).Failed > 0 {
		return errFailed
	}
	return nil
}
