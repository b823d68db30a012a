package main

import (
	"mongofork/tools/fork/assemble"
)

type buildCmd struct {
	Pristine bool `help:"Write upstream's module as it is, without go.work, to build/pristine/<base>."`
}

func (c *buildCmd) Run(a *app) error {
	if c.Pristine {
		plan, err := a.project.Plan(a.ctx)
		if err != nil {
			return err
		}
		tree := assemble.Pristine(plan.Module)
		out := a.project.Folder("pristine", a.project.Base)
		_, err = out.Write(tree)
		a.printf("%s as it is: %d files\n%s\n", plan.Module, len(tree), out.Dir)
		return err
	}
	built, out, changed, err := a.project.Build(a.ctx)
	if err != nil {
		return err
	}
	m := built.Plan.Module
	a.printf("%s\n%s; %d files\n%s: %s\n\nIn the go.mod of an application (or: mongofork use DIR):\n\n\treplace %s => %s\n",
		m, built.Plan.Counts(), len(built.Tree), out.Dir, map[bool]string{true: "written", false: "unchanged"}[changed], m, out.Dir)
	return nil
}

type checkCmd struct{}

func (*checkCmd) Run(a *app) error {
	built, err := a.project.Fork(a.ctx, false)
	if err == nil {
		a.printf("%s: %s: all assertions hold\n", built.Module(), built.Plan.Counts())
	}
	return err
}

type acceptCmd struct{}

func (*acceptCmd) Run(a *app) error {
	entries, err := a.project.Accept(a.ctx)
	if err == nil {
		a.printf("%s: %d entries\n", a.project.LockFile(), entries)
	}
	return err
}
