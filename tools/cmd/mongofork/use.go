package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/mod/module"

	"mongofork/tools/adopt"
	"mongofork/tools/command"
	"mongofork/tools/fork/output"
)

type useCmd struct {
	Application string `arg:"" name:"dir" help:"Folder of the application's go.mod."`
	DryRun      bool   `short:"n" help:"Show the changes to the application without making them."`
	Undo        bool   `xor:"mode" help:"Restore upstream's driver, and the files as they were if nothing else has changed."`
	Check       bool   `xor:"mode" help:"Print what the application is built with; exit with 1 unless it is a suitable fork."`
	AtLeast     string `placeholder:"LEVEL" help:"With --check: also exit with 1 if the fork is of a patch level below this one, such as fork.2."`
	Release     bool   `help:"Use the released version from a module proxy instead of the folder in build/."`
	SkipBuild   bool   `help:"Do not build the application."`
}

func (useCmd) Help() string {
	return "Takes the lowest base that is not below the driver version in effect, unless --base names a higher one; ignores " +
		"BASE in the " +
		"environment. Builds that fork, edits go.mod, runs go mod tidy, builds the application, and runs go mod vendor if " +
		"there is a " +
		"vendor folder. The files change together, and only if the fork is then in effect."
}

var patchLevel = regexp.MustCompile(`^[a-z]+\.(0|[1-9][0-9]*)$`)

func (c *useCmd) Run(a *app) error {
	bases, err := a.project.Bases()
	if err != nil {
		return err
	}
	application := adopt.Application{
		Dir: c.Application, Driver: modulePath, Bases: bases, Run: a.run, Records: filepath.Join(a.project.Root, "build", "use"),
		Command: []string{"go", "-C", a.project.Root, "run", "./tools/cmd/mongofork", "use"},
	}
	if c.AtLeast != "" && !c.Check {
		return errors.New("--at-least needs --check")
	}
	if c.AtLeast != "" && !patchLevel.MatchString(c.AtLeast) {
		return fmt.Errorf("--at-least=%s is no patch level; they begin with fork.1", c.AtLeast)
	}
	if c.Check {
		effect, err := application.Check(a.ctx, c.AtLeast)
		if err != nil {
			return findings{err.Error()}
		}
		fmt.Fprintln(a.out, effect)
		return nil
	}
	change, err := c.prepare(a, application)
	if err != nil {
		return refused(err)
	}
	if c.DryRun {
		c.describe(a, change, "would change")
		return change.Discard()
	}
	effect, err := change.Commit(a.ctx)
	if err != nil {
		return refused(err)
	}
	c.describe(a, change, "changed")
	if !c.Undo {
		fmt.Fprintf(a.out, "%s\nTo undo: %s\n", effect, command.Quote(append(application.Command, "--undo", change.Dir)...))
	}
	return nil
}

func (c *useCmd) prepare(a *app, application adopt.Application) (*adopt.Change, error) {
	if c.Undo {
		return application.Undo(a.ctx, c.SkipBuild)
	}
	plan := adopt.Plan{SkipBuild: c.SkipBuild, Target: func(ctx context.Context, base string) (module.Version, error) {
		return c.target(ctx, a, base)
	}}
	if a.baseGiven {
		plan.Base = a.project.Base
	}
	return application.Use(a.ctx, plan)
}

// target builds the fork of a base, or names its release.
func (c *useCmd) target(ctx context.Context, a *app, base string) (module.Version, error) {
	on := &app{ctx: ctx, out: a.out, run: a.run, project: a.project.On(base)}
	if err := on.project.RefuseOpen(); err != nil {
		return module.Version{}, err
	}
	if c.Release {
		level, err := on.project.Level(ctx, false)
		return module.Version{Path: modulePath, Version: output.Version(base, level)}, err
	}
	built, err := on.project.Fork(ctx, false)
	if err != nil {
		return module.Version{}, err
	}
	out := on.output("")
	_, err = out.Write(built.Tree, false)
	return module.Version{Path: out.Dir}, err
}

// describe prints what was done, or would be.
func (c *useCmd) describe(a *app, change *adopt.Change, verb string) {
	switch {
	case c.Undo:
		fmt.Fprintf(a.out, "%s: upstream's driver\n", change.Module)
	case change.Required == change.Base:
		fmt.Fprintf(a.out, "%s requires %s of the driver: the fork of that version\n", change.Module, change.Required)
	default:
		fmt.Fprintf(a.out, "%s requires %s of the driver, and gets the fork of %s\n", change.Module, change.Required, change.Base)
	}
	vendored := 0
	for _, e := range change.Edits {
		if strings.HasPrefix(e.Path, "vendor/") {
			vendored++
			continue
		}
		fmt.Fprintf(a.out, "%s: %s\n", e.Path, verb)
		if e.Path == "go.mod" {
			fmt.Fprint(a.out, e.Diff())
		}
	}
	if vendored > 0 {
		fmt.Fprintf(a.out, "vendor: %s, %d files\n", verb, vendored)
	}
	if len(change.Edits) == 0 {
		fmt.Fprintln(a.out, "nothing to change")
	}
	for _, note := range change.Notes {
		fmt.Fprintf(a.out, "note: %s\n", note)
	}
	if !c.SkipBuild {
		fmt.Fprintln(a.out, "go build ./...: done")
	}
}

// refused turns a problem with an application into a finding, for the exit code, and says that nothing changed.
func refused(err error) error {
	return findings{err.Error() + "\nnothing changed in the application"}
}
