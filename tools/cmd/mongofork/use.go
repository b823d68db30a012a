package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"

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
		"the environment is for the other commands. If anything fails, or the fork is not in effect then, the files are " +
		"restored. This takes a minute or two the first time, when the driver is compiled."
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
