// Mongofork lays this repository's declarations over the official MongoDB Go
// driver and writes the result as a module that can take the driver's place.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/alecthomas/kong"
	"golang.org/x/mod/modfile"

	"mongofork/tools/adopt"
	"mongofork/tools/command"
	"mongofork/tools/fork"
	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/git"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/upstream"
)

const defaultBase = "v2.5.0"

// cli is the command line. Each command is a struct with a Run method.
type cli struct {
	Dir  string `short:"C" default:"." placeholder:"DIR" help:"Folder in the repository."`
	Base string `help:"Version of upstream to build on. Default: for use, what the application requires; else BASE in the environment, or ${base}."`

	Build   buildCmd   `cmd:"" help:"Check every assertion of the overlay, and write the fork to build/<base>/."`
	Drift   driftCmd   `cmd:"" help:"Show what another version of upstream changed beneath the overlay."`
	Accept  acceptCmd  `cmd:"" help:"Record upstream's present declarations in the lock. First read what changed: mongofork drift -v VERSION."`
	Series  seriesCmd  `cmd:"" help:"Write the fork as a series of commits for git am."`
	Release releaseCmd `cmd:"" help:"Write the fork as a module version in a folder that serves as GOPROXY."`
	Use     useCmd     `cmd:"" help:"Add the fork to an application's go.mod, or remove it."`
}

// app holds what the commands work with.
type app struct {
	ctx     context.Context
	project *fork.Project
	// base is the project's if the command line names it.
	base string
	out  io.Writer
	// progress is where what takes long is told.
	progress io.Writer
}

// printf prints for the user.
func (a *app) printf(format string, args ...any) { fmt.Fprintf(a.out, format, args...) }

func main() { command.Main(run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var c cli
	return command.Program{
		Name: "mongofork", CLI: &c, Failed: report,
		Description: "Lays the declarations of this repository over " + adopt.Driver + ".\n\n" +
			"Exit codes: 0 done, 1 failed or problems found, 2 wrong usage.",
		Options: []kong.Option{kong.Vars{"base": defaultBase}, kong.ConfigureHelp(kong.HelpOptions{Compact: true})},
		Do: func(parsed *kong.Context) error {
			root, err := plan.FindRoot(c.Dir)
			if err != nil {
				return err
			}
			return parsed.Run(&app{ctx: ctx, out: stdout, progress: stderr, base: c.Base, project: &fork.Project{
				Root: root, Module: adopt.Driver, Base: cmp.Or(c.Base, os.Getenv("BASE"), defaultBase),
				Source: upstream.Download, State: git.StateOf,
			}})
		},
	}.Run(args, stdout, stderr)
}

// report prints an error and returns the exit code.
func report(err error, stderr io.Writer) int {
	var problems problem.List
	if errors.As(err, &problems) {
		fmt.Fprintf(stderr, "%v\nmongofork: nothing written\n", problems)
	} else {
		fmt.Fprintf(stderr, "mongofork: %v\n", err)
	}
	return command.ExitFailed
}

type buildCmd struct {
	Pristine bool `help:"Write upstream's module as it is, without go.work, to build/pristine/<base>."`
}

func (c *buildCmd) Run(a *app) error {
	if c.Pristine {
		m, err := a.project.Source(a.ctx, a.project.Module, a.project.Base)
		if err != nil {
			return err
		}
		tree := assemble.Pristine(m)
		out := a.project.Folder("pristine", a.project.Base)
		_, err = out.Write(tree)
		a.printf("%s as it is: %d files\n%s\n", m, len(tree), out.Dir)
		return err
	}
	built, out, changed, err := a.project.Build(a.ctx)
	if err != nil {
		return err
	}
	m := built.Plan.Module
	a.printf("%s\n%d files\n%s: %s\n\nIn the go.mod of an application (or: mongofork use DIR):\n\n\treplace %s => %s\n",
		built.Module(), len(built.Tree), out.Dir, map[bool]string{true: "written", false: "unchanged"}[changed], m,
		modfile.AutoQuote(out.Dir))
	return nil
}

type acceptCmd struct{}

func (*acceptCmd) Run(a *app) error {
	entries, err := a.project.Accept(a.ctx)
	if err != nil {
		return err
	}
	a.printf("%s: %d entries\n", a.project.LockFile(), entries)
	mistakes, err := a.project.Compile(a.ctx)
	if len(mistakes) > 0 {
		err = fmt.Errorf("the lock is written, but the overlay does not compile on %s:\n%v", a.project.Base, mistakes)
	}
	return err
}
