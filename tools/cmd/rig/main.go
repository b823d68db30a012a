// Rig runs the project's test suites, and starts MongoDB servers for them.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"mongofork/tools/command"
	"mongofork/tools/fork"
	"mongofork/tools/fork/plan"
	"mongofork/tools/gotest"
	"mongofork/tools/redact"
	"mongofork/tools/rig/server"
	"mongofork/tools/rig/specs"
	"mongofork/tools/rig/suite"
)

const description = `Runs the project's test suites and what belongs to them.

Exit codes: 0 done, 1 a test or check failed, 2 wrong usage or environment.`

// cli is the command line. Each command is a struct with a Run method.
type cli struct {
	Base string `env:"BASE" help:"Version of upstream that the fork is built on. Default: the oldest."`

	Test   testCmd   `cmd:"" help:"Run the test suites and print a report."`
	Server serverCmd `cmd:"" help:"Start a MongoDB server, or find the one that MONGODB_URI names."`
	Mongod mongodCmd `cmd:"" help:"Print the path of the mongod whose members a soak starts, and install it if necessary."`

	Planted        plantedCmd        `cmd:"" help:"Plant defects into the fork, one by one, and see what finds them."`
	Packages       packagesCmd       `cmd:"" help:"Run the tests of some packages, as far as they need no server, in a tree that is to become the fork."`
	Specifications specificationsCmd `cmd:"" help:"Get the specification tests that upstream's tests are written for, and print PROJECT_DIRECTORY for them."`
}

// find returns the rig of the repository around the working directory, after checking that it has the base.
func find(base string) (*suite.Rig, error) {
	root, err := plan.FindRoot(".")
	if err != nil {
		return nil, err
	}
	bases, err := (&fork.Project{Root: root}).Bases()
	if err != nil {
		return nil, err
	}
	if base == "" {
		base = bases[0]
	}
	if !slices.Contains(bases, base) {
		return nil, fmt.Errorf("there is no base %q; name one with BASE or --base: %s", base, strings.Join(bases, ", "))
	}
	store, revisions, err := specs.Open(root, base, os.Stderr)
	if err != nil {
		return nil, err
	}
	return &suite.Rig{
		Root: root, Base: base, Revisions: revisions, CI: os.Getenv("CI") == "true", Environ: os.Environ(),
		Project: store.Project, Open: server.Open, GoTest: gotest.Go, Log: log.New(os.Stderr, "", 0),
	}, nil
}

func main() { command.Main(run) }

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c := new(cli)
	return command.Program{
		Name: "rig", Description: description, CLI: c, Failed: exitCode,
		Options: []kong.Option{
			kong.BindTo(ctx, (*context.Context)(nil)), kong.BindTo(stdout, (*io.Writer)(nil)),
			kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
			kong.Vars{"suites": strings.Join(slices.Concat(suite.Default, suite.Extra), ", ")},
		},
		Do: func(parsed *kong.Context) error {
			rig, err := find(c.Base)
			if err != nil {
				return err
			}
			return parsed.Run(rig)
		},
	}.Run(args, stdout, stderr)
}

// exitCode prints an error, unless a report has already shown it, and returns its exit code: that of a command if it has one.
func exitCode(err error, stderr io.Writer) int {
	if errors.Is(err, suite.ErrFailed) {
		return command.ExitFailed
	}
	fmt.Fprintf(stderr, "rig: %s\n", redact.URIs(err.Error()))
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) && coded.ExitCode() > 0 {
		return coded.ExitCode()
	}
	return command.ExitUsage
}

type specificationsCmd struct{}

// Run prints the folder.
func (specificationsCmd) Run(ctx context.Context, rig *suite.Rig, stdout io.Writer) error {
	project, err := rig.Project(ctx, rig.Revisions.Upstream)
	if err == nil {
		_, err = fmt.Fprintln(stdout, project)
	}
	return err
}
