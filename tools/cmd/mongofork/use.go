package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"mongofork/tools/adopt"
)

type useCmd struct {
	Application string `arg:"" name:"dir" help:"Folder of the application's go.mod."`
	adopt.Options
	Check   bool   `xor:"mode" help:"Print what the application is built with; exit with 1 unless it is a suitable fork."`
	AtLeast string `placeholder:"LEVEL" help:"With --check: also exit with 1 if the fork is of a patch level below this one, such as fork.2."`
}

func (useCmd) Help() string {
	return "Takes the lowest base that is not below the driver version in effect, unless --base names a higher one; BASE in " +
		"the environment is for the other commands. Builds that fork, edits go.mod, runs go mod tidy, which also changes " +
		"go.sum, builds the application, and runs go mod vendor if there is a vendor folder. The files change together, and " +
		"only if the fork is then in effect. This takes a minute or two the first time, when the driver is compiled, and then " +
		"seconds; the steps that take long are told as they begin."
}

var patchLevel = regexp.MustCompile(`^[a-z]+\.(0|[1-9][0-9]*)$`)

// Validate says what is wrong with the command line.
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
	c.describe(a, change)
	return nil
}

// describe prints what was done, or would be.
func (c *useCmd) describe(a *app, change *adopt.Change) {
	switch {
	case c.Undo:
		a.printf("%s: upstream's driver\n", change.Module)
	case change.Requiring != change.Module:
		a.printf("%s requires %s of the driver in the same workspace, so %s gets the fork of %s\n", change.Requiring,
			change.Required, change.Module, change.Base)
	case change.Required == change.Base:
		a.printf("%s requires %s of the driver: the fork of that version\n", change.Module, change.Required)
	default:
		a.printf("%s requires %s of the driver, and gets the fork of %s\n", change.Module, change.Required, change.Base)
	}
	verb := map[bool]string{true: "would change", false: "changed"}[c.DryRun]
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
	if change.Effect != "" {
		a.printf("%s\nTo undo: %s\n", change.Effect, change.CommandLine(change.Dir, "--undo"))
	}
}
