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
	"path/filepath"
	"regexp"
	"strings"

	"github.com/alecthomas/kong"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"

	"mongofork/tools/adopt"
	"mongofork/tools/command"
	"mongofork/tools/fork"
	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/drift"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/git"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/series"
	"mongofork/tools/fork/syntax"
	"mongofork/tools/fork/upstream"
)

const defaultBase = "v2.5.0"

// cli is the command line. Each command is a struct with a Run method.
type cli struct {
	Dir  string `short:"C" default:"." placeholder:"DIR" help:"The repository."`
	Base string `help:"Version of upstream to build on. Default: for use, what the application requires; else BASE in the environment, or ${base}."`

	Build   buildCmd   `cmd:"" help:"Check every assertion of the overlay, and write the fork to build/<base>/."`
	Drift   driftCmd   `cmd:"" help:"Show what another version of upstream changed beneath the overlay."`
	Accept  acceptCmd  `cmd:"" help:"Make a version of upstream a base. First read what changed: mongofork drift -v VERSION."`
	Series  seriesCmd  `cmd:"" help:"Write the fork as a series of commits for git am."`
	Release releaseCmd `cmd:"" help:"Write the fork as a module version in a folder that serves as GOPROXY."`
	Use     useCmd     `cmd:"" help:"Add the fork to an application's go.mod, or remove it."`
}

// app holds what the commands work with.
type app struct {
	ctx     context.Context
	project *fork.Project
	// base is the project's if the command line names it.
	base     string
	out      io.Writer
	progress io.Writer // where what takes long is told
}

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
			root, err := filepath.Abs(c.Dir)
			if _, statErr := os.Stat(filepath.Join(root, plan.FoldersFile)); err != nil || statErr != nil {
				return fmt.Errorf("no %s in %s: run this in the repository", plan.FoldersFile, root)
			}
			return parsed.Run(&app{ctx: ctx, out: stdout, progress: stderr, base: c.Base, project: &fork.Project{
				Root: root, Module: adopt.Driver, Base: cmp.Or(c.Base, os.Getenv("BASE"), defaultBase),
				Source: upstream.Download, State: git.StateOf,
			}})
		},
	}.Run(args, stdout, stderr)
}

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
	tree, err := a.project.Accept(a.ctx)
	if err != nil {
		return err
	}
	a.printf("%s: written\n", a.project.LockFile())
	if err = drift.Compile(a.ctx, a.project.Root, tree); errors.As(err, new(problem.List)) {
		err = fmt.Errorf("the lock is written, but the overlay does not compile on %s:\n%v", a.project.Base, err)
	}
	return err
}

type driftCmd struct {
	Version string `arg:"" help:"The version to compare with, such as v2.10.0."`
	Diff    bool   `short:"v" help:"Print upstream's change of each declaration."`
}

func (driftCmd) Help() string {
	return "Lists what has to be reviewed before the overlay is used with the other version, as tools/fork/README.md says. Exits " +
		"with 1 if there is anything, or if the version is newer than every base: nobody has read it."
}

func (c *driftCmd) Run(a *app) error {
	bases, err := a.project.Bases()
	matched, _, matchErr := a.project.Assemble(a.ctx)
	target, targetErr := a.project.Source(a.ctx, a.project.Module, c.Version)
	if err := errors.Join(err, matchErr, targetErr); err != nil {
		return err
	}
	report, err := drift.Compare(a.ctx, a.project.Root, matched, target)
	if err != nil {
		return err
	}
	review := c.print(a, report)
	summary := fmt.Sprintf("%d of %d need review before the overlay is used with %s", review,
		len(report.Rows)+len(report.Added)+len(report.Misfits), c.Version)
	if newest := bases[len(bases)-1]; semver.Compare(c.Version, newest) > 0 {
		return fmt.Errorf("%s\n%s is newer than the newest base, %s: read it, and make it a base (tools/fork/README.md)",
			summary, c.Version, newest)
	} else if review > 0 {
		return errors.New(summary)
	}
	a.printf("%s\n", summary)
	return nil
}

// print prints what needs review and returns how much that is.
func (c *driftCmd) print(a *app, report *drift.Report) (review int) {
	for _, row := range report.Rows {
		if row.Class() == "same" {
			continue
		}
		review++
		a.printf("%-9s %s\n", row.Class(), row.Subject)
		for _, ours := range row.Ours {
			a.printf("          %s\n", ours)
		}
		a.printf("          was in %s\n", syntax.Places(row.Was))
		if len(row.Now) > 0 {
			a.printf("          is in %s\n", syntax.Places(row.Now))
			if c.Diff {
				a.printf("%s", row.Diff())
			}
		}
	}
	for _, added := range report.Added {
		a.printf("%-9s %s\n", "new", added)
	}
	for _, misfit := range report.Misfits {
		a.printf("%-9s %s\n", "misfit", misfit)
	}
	if report.Uncompiled {
		a.printf("The overlay does not fit yet, and was not compiled.\n")
	}
	return review + len(report.Added) + len(report.Misfits)
}

// author is who git is configured for, or else the builder.
func (a *app) author() string {
	out, err := command.Output(a.ctx, a.project.Root, nil, "git", "-c", "user.useConfigOnly=true", "var", "GIT_AUTHOR_IDENT")
	name, _, found := strings.Cut(string(out), ">")
	if err != nil || !found {
		return git.Builder
	}
	return name + ">"
}

type seriesCmd struct {
	Tree  string `type:"path" placeholder:"DIR" help:"Also write the tree after the last commit: the fork, except for what the series leaves out."`
	Fixes bool   `help:"Instead write the fix of each defect, for upstream's unchanged tree, to the folder fixes below that one."`
}

func (c *seriesCmd) Run(a *app) error {
	f, err := a.project.Fork(a.ctx, false)
	if err = errors.Join(err, f.Nameless); err != nil {
		return err
	}
	steps, err := series.New(a.project.Root, f.Plan)
	if err != nil {
		return err
	}
	var patches, tree filetree.Tree
	out := a.project.Folder("series", a.project.Base).Dir
	if c.Fixes {
		out = filepath.Join(out, "fixes")
		patches, err = steps.FixPatches(a.ctx, a.author(), f.Time)
	} else if patches, tree, err = steps.Patches(a.ctx, a.author(), f.Time); err == nil && c.Tree != "" {
		err = tree.Write(c.Tree)
	}
	if err != nil {
		return err
	}
	a.printf("%d patches; apply those of the series with: git am --empty=drop %s/*.patch\n", len(patches), out)
	return series.Write(out, patches)
}

type releaseCmd struct {
	Output string `short:"o" type:"path" required:"" placeholder:"DIR" help:"The folder to write to. If it has a release, compare it."`
	Final  string `placeholder:"VERSION" help:"Build this version for publication, and record its hash in etc/released.sum. It has to be <base>-<version.Fork>."`
}

func (c *releaseCmd) Run(a *app) error {
	r, err := a.project.Release(a.ctx, c.Final)
	if err != nil {
		return err
	}
	had, _ := filetree.Read(c.Output)
	if err := a.project.Publish(r, c.Output); err != nil {
		return err
	}
	for _, name := range r.Files.Paths() {
		a.printf("%s\n", name)
	}
	a.printf("%s: %s\n\n", c.Output, map[bool]string{true: "written", false: "compared, without a difference"}[len(had) == 0])
	a.printf("%s\nTo use it:\n\n\texport GOPROXY=\"file://%s,$(go env GOPROXY)\" GONOSUMDB=mongofork.internal\n"+
		"\tgo run ./tools/cmd/mongofork use --release ../app\n", r.Files["go.sum"], filepath.ToSlash(c.Output))
	return nil
}

type useCmd struct {
	Application string `arg:"" name:"dir" help:"Folder of the application's go.mod."`
	adopt.Options
	Check   bool   `xor:"mode" help:"Print what the application is built with; exit with 1 unless it is a suitable fork."`
	AtLeast string `placeholder:"LEVEL" help:"With --check: also exit with 1 if the fork is of a patch level below this one, such as fork.2."`
}

func (useCmd) Help() string {
	return "Takes the lowest base that is not below the driver version in effect, unless --base names a higher one; BASE in " +
		"the environment is for the other commands. If anything fails, or the fork is not in effect then, the files are " +
		"restored. This takes a minute or two the first time, when the driver is compiled."
}

var patchLevel = regexp.MustCompile(`^[a-z]+\.(0|[1-9][0-9]*)$`)

// Validate refuses levels that a fork of any level would seem to have.
func (c *useCmd) Validate() error {
	switch {
	case c.AtLeast != "" && !c.Check:
		return errors.New("--at-least needs --check")
	case c.AtLeast != "" && !patchLevel.MatchString(c.AtLeast):
		return fmt.Errorf("--at-least=%s is not a patch level; the first is fork.1", c.AtLeast)
	}
	return nil
}

func (c *useCmd) Run(a *app) error {
	application := adopt.Application{Dir: c.Application, Project: a.project, Progress: func(step string) {
		fmt.Fprintf(a.progress, "%s ...\n", step)
	}}
	if c.Check {
		effect, err := application.Check(a.ctx, c.AtLeast)
		if err == nil {
			a.printf("%s\n", effect)
		}
		return err
	}
	c.Base = a.base
	change, err := application.Change(a.ctx, c.Options)
	if err != nil {
		return fmt.Errorf("%w\nnothing changed in the application", err)
	}
	if c.Undo {
		a.printf("%s: upstream's driver\n", change.Module)
	} else {
		a.printf("%s requires %s of the driver, and gets the fork of %s\n", change.Module, change.Required, change.Base)
	}
	a.printf("%s", change.Diff)
	for _, note := range change.Notes {
		a.printf("note: %s\n", note)
	}
	if !c.Undo {
		dir, _ := filepath.Abs(c.Application)
		a.printf("%s\nTo undo: %s\n", change.Effect, application.CommandLine("use", "--undo", dir))
	}
	return nil
}
