package main

type buildCmd struct {
	Output   string `short:"o" placeholder:"DIR" help:"Write to this folder instead of build/<base>."`
	Force    bool   `help:"Overwrite edits in the output."`
	Pristine bool   `help:"Write upstream's module as it is, without go.work, to build/pristine/<base>."`
}

func (c *buildCmd) Run(a *app) error {
	if c.Pristine {
		out := a.folder(c.Output, "pristine", a.project.Base)
		tree, err := a.project.Pristine(a.ctx)
		if err != nil {
			return err
		}
		_, err = out.Write(tree, c.Force)
		a.printf("%s %s as it is: %d files\n%s\n", modulePath, a.project.Base, len(tree), out.Label)
		return err
	}
	built, err := a.project.Fork(a.ctx, false)
	if err != nil {
		return err
	}
	out := a.folder(c.Output, a.project.Base)
	if c.Output == "" {
		built.Tree, out.Links = a.project.Editable(built)
	}
	written, err := out.Write(built.Tree, c.Force)
	if err != nil {
		return err
	}
	m := built.Plan.Module
	a.printf("%s\n%s; %d files\n%s: %s\n\nIn the go.mod of an application (or: mongofork use DIR):\n\n\treplace %s => %s\n",
		m, built.Plan.Counts(), len(built.Tree), out.Label, map[bool]string{true: "written", false: "unchanged"}[written], m, out.Dir)
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
