package main

import (
	"fmt"
	"path/filepath"

	"mongofork/tools/fork/advisory"
	"mongofork/tools/fork/output"
)

type buildCmd struct {
	Output   string `short:"o" placeholder:"DIR" help:"Write to this folder instead of build/<base>."`
	Force    bool   `help:"Overwrite edits in the output."`
	Pristine bool   `help:"Write upstream's module as it is, without go.work, to build/pristine/<base>."`
}

func (buildCmd) Help() string {
	return "All assertions are checked first; if any fails, all failures are listed and nothing is written. " +
		"An output with edits that would be lost is refused."
}

func (c *buildCmd) Run(a *app) error {
	out := a.output(c.Output)
	if c.Pristine {
		return c.pristine(a)
	}
	if err := a.project.RefuseOpen(); err != nil {
		return err
	}
	built, err := a.project.Fork(a.ctx, false)
	if err != nil {
		return err
	}
	if c.Output == "" {
		built.Tree, out.Links = a.project.Editable(built)
	}
	written, err := out.Write(built.Tree, c.Force)
	if err != nil {
		return err
	}
	plan := built.Plan
	state := "written"
	if !written {
		state = "unchanged"
	}
	fmt.Fprintf(a.out, "%s\n%s; %d files\n%s: %s\n\n"+
		"In the go.mod of an application (or: mongofork use DIR):\n\n\treplace %s %s => %s\n",
		plan.Module, plan.Counts(), len(built.Tree), out.Label, state, plan.Module.Path, plan.Module.Version, out.Dir)
	return nil
}

func (c *buildCmd) pristine(a *app) error {
	out := a.folder(c.Output, "pristine", a.project.Base)
	assembly, err := a.project.Pristine(a.ctx)
	if err != nil {
		return err
	}
	if _, err := out.Write(assembly, c.Force); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "%s %s as it is: %d files\n%s\n", modulePath, a.project.Base, len(assembly), out.Label)
	return nil
}

// output returns the folder to write to: dir, or the one for the base.
func (a *app) output(dir string) output.Folder { return a.folder(dir, a.project.Base) }

// folder returns a folder that the command line gives or, without one, a folder below build.
func (a *app) folder(given string, otherwise ...string) output.Folder {
	if given == "" {
		return output.Below(a.project.Root, otherwise...)
	}
	abs, err := filepath.Abs(given)
	if err != nil {
		abs = given
	}
	return output.Folder{Dir: abs, Label: filepath.ToSlash(given)}
}

type checkCmd struct{}

func (*checkCmd) Run(a *app) error {
	plan, _, err := a.project.Assemble(a.ctx)
	if err != nil {
		return err
	}
	advisories, err := advisory.Read(a.project.Root)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "%s: %s: all assertions hold\n%s\n", plan.Module, plan.Counts(), advisories.Summary(a.project.Base))
	return nil
}
