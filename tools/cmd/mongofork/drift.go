package main

import (
	"fmt"

	"mongofork/tools/fork"
	"mongofork/tools/fork/drift"
	"mongofork/tools/fork/syntax"
)

type driftCmd struct {
	Version string `arg:"" help:"The version to compare with, such as v2.10.0."`
	Diff    bool   `short:"v" help:"Print upstream's change of each declaration."`
}

func (driftCmd) Help() string {
	return "Lists what has to be reviewed before the overlay is used with the other version, and exits with 1 if there is any: a changed " +
		"declaration, one that is gone, a name that collides with one of ours."
}

func (c *driftCmd) Run(a *app) error {
	rows, err := a.project.Drift(a.ctx, c.Version)
	if err != nil {
		return err
	}
	advisories, err := a.project.ReadAdvisories()
	if err != nil {
		return err
	}
	review := c.print(a, rows)
	if len(advisories) > 0 {
		fmt.Fprintln(a.out, advisories.Summary(c.Version))
	}
	summary := fmt.Sprintf("%d of %d need review before the overlay is used with %s", review, len(rows), c.Version)
	if review > 0 {
		return findings{summary}
	}
	fmt.Fprintln(a.out, summary)
	return nil
}

// print prints what needs review and returns how much that is.
func (c *driftCmd) print(a *app, rows []drift.Row) (review int) {
	for _, row := range rows {
		if !row.Class.NeedsReview() {
			continue
		}
		review++
		fmt.Fprintf(a.out, "%-9s %s\n", row.Class, row.Subject)
		for _, line := range []struct{ label, value string }{
			{row.How + " of", row.Ours}, {"was in", row.Was}, {"is in", row.Now},
		} {
			if line.value != "" {
				fmt.Fprintf(a.out, "          %s %s\n", line.label, line.value)
			}
		}
		if c.Diff {
			fmt.Fprint(a.out, row.Diff)
		}
	}
	return review
}

type acceptCmd struct {
	Keys []string `arg:"" optional:"" name:"key" help:"Declarations to accept, such as 'x/mongo/driver Operation.Execute'."`
	All  bool     `help:"Accept every touched and watched declaration."`
}

func (acceptCmd) Help() string {
	return "Read what upstream has changed (mongofork drift -v VERSION) before accepting it. With --base of a version that is no base " +
		"yet it becomes one, and without arguments no more than that."
}

func (c *acceptCmd) Run(a *app) error {
	opt := fork.AcceptOptions{All: c.All, Module: modulePath}
	for _, s := range c.Keys {
		key, err := syntax.ParseKey(s)
		if err != nil {
			return err
		}
		opt.Keys = append(opt.Keys, key)
	}
	lock, err := a.project.Accept(a.ctx, opt)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "%s: %d entries", a.project.LockFile(), len(lock.Entries))
	if open := len(lock.Open); open > 0 {
		fmt.Fprintf(a.out, "; %d more to accept (mongofork check lists them)", open)
	}
	fmt.Fprintln(a.out)
	return nil
}
