package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/mod/module"

	"mongofork/tools/adopt"
	"mongofork/tools/command"
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
		"BASE in the environment. Builds that fork, edits go.mod, runs go mod tidy, which also changes go.sum, builds the application, and runs go mod " +
		"vendor if there is a vendor folder. The files change together, and only if the fork is then in effect."
}

var patchLevel = regexp.MustCompile(`^[a-z]+\.(0|[1-9][0-9]*)$`)

func (c *useCmd) Run(a *app) error {
	bases, err := a.project.Bases()
	if err != nil {
		return err
	}
	application := adopt.Application{Dir: c.Application, Root: a.project.Root, Bases: bases,
		Run: func(ctx context.Context, dir string, env []string, name string, args ...string) ([]byte, error) {
			a.step(strings.Join(append([]string{name}, args[:min(2, len(args))]...), " "))
			return command.Output(ctx, dir, env, name, args...)
		},
		Sums: a.project.Sums, Mends: func(base string) (mends []adopt.Mend, err error) {
			list, err := a.project.Advisories()
			for _, advisory := range list {
				if d := advisory.Dependency; d != nil && advisory.Affects(base) {
					mends = append(mends, adopt.Mend{Version: module.Version{Path: d.Module, Version: d.Fixed}, ID: advisory.ID, Go: d.Go})
				}
			}
			return mends, err
		}}
	switch {
	case c.AtLeast != "" && !c.Check:
		return errors.New("--at-least needs --check")
	case c.AtLeast != "" && !patchLevel.MatchString(c.AtLeast):
		return fmt.Errorf("--at-least=%s is not a patch level; the first is fork.1", c.AtLeast)
	}
	repaired, err := application.Repair()
	if err != nil {
		return findings(err.Error())
	}
	if repaired {
		a.printf("note: a use was killed in this application, and its files are again what they were before that\n")
	}
	if c.Check {
		effect, err := application.Check(a.ctx, c.AtLeast)
		if err != nil {
			return findings(err.Error())
		}
		a.printf("%s\n", effect)
		return nil
	}
	if err := c.change(a, application); err != nil { // a finding, for the exit code
		return findings(err.Error() + "\nnothing changed in the application")
	}
	return nil
}

// change puts the fork in, or takes it out.
func (c *useCmd) change(a *app, application adopt.Application) (err error) {
	change, err := application.Open(a.ctx)
	if err != nil {
		return err
	}
	defer func() {
		a.running.Stop()
		err = errors.Join(err, change.Close())
	}()
	if c.Undo {
		err = change.Undo(a.ctx)
	} else {
		err = change.Use(a.ctx, a.base, func(base string) (module.Version, error) { return c.fork(a, base) })
	}
	if err == nil && !c.SkipBuild {
		if err = change.Build(a.ctx); err == nil && !c.Undo {
			err = change.Explain(a.ctx)
		}
	}
	if err != nil {
		return err
	}
	if c.DryRun {
		c.describe(a, change, "would change")
		return nil
	}
	effect, err := change.Commit(a.ctx)
	if err != nil {
		return err
	}
	c.describe(a, change, "changed")
	if !c.Undo {
		a.printf("%s\nTo undo: %s\n", effect, application.CommandLine(change.Dir, "--undo"))
	}
	return nil
}

// fork builds the fork of a base, or names its release.
func (c *useCmd) fork(a *app, base string) (module.Version, error) {
	a.step("making the fork of " + base)
	project := a.project.On(base)
	if !c.Release {
		_, out, _, err := project.Build(a.ctx)
		return module.Version{Path: out.Dir}, err
	}
	built, err := project.Fork(a.ctx, false)
	if err != nil {
		return module.Version{}, err
	}
	return built.Released()
}

// describe prints what was done, or would be.
func (c *useCmd) describe(a *app, change *adopt.Change, verb string) {
	switch {
	case c.Undo:
		a.printf("%s: upstream's driver\n", change.Module)
	case change.Required == change.Base:
		a.printf("%s requires %s of the driver: the fork of that version\n", change.Module, change.Required)
	default:
		a.printf("%s requires %s of the driver, and gets the fork of %s\n", change.Module, change.Required, change.Base)
	}
	vendored := 0
	for _, path := range change.Paths() {
		if strings.HasPrefix(path, "vendor/") {
			vendored++
			continue
		}
		a.printf("%s: %s\n", path, verb)
		if path == "go.mod" {
			a.printf("%s", change.Diff(path))
		}
	}
	if vendored > 0 {
		a.printf("vendor: %s, %d files\n", verb, vendored)
	}
	if len(change.Paths()) == 0 {
		a.printf("nothing to change\n")
	}
	for _, note := range change.Notes {
		a.printf("note: %s\n", note)
	}
	if !c.SkipBuild {
		a.printf("go build ./...: done\n")
	}
}
