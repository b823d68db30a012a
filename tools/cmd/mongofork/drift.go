package main

import (
	"fmt"

	"golang.org/x/mod/semver"

	"mongofork/tools/fork/drift"
)

type driftCmd struct {
	Version string `arg:"" optional:"" help:"The version to compare with, such as v2.10.0. Without it the newest release is compared with the newest base."`
	Diff    bool   `short:"v" help:"Print upstream's change of each declaration."`
}

func (driftCmd) Help() string {
	return "Lists what has to be reviewed before the overlay is used with the other version, and exits with 1 if there is any: a body or " +
		"a signature that changed, a declaration that is gone, a name that collides with one of ours."
}

func (c *driftCmd) Run(a *app) error {
	if c.Version == "" {
		bases, err := a.project.Bases()
		if err != nil {
			return err
		}
		if c.Version, err = a.project.NewestRelease(a.ctx); err != nil {
			return err
		}
		if a.project.Base = bases[len(bases)-1]; semver.Compare(c.Version, a.project.Base) <= 0 {
			fmt.Fprintf(a.out, "%s is the newest release, and a base\n", c.Version)
			return nil
		}
	}
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
			{row.How + " of", row.Ours}, {"was in", row.Was}, {"is in", row.Now}, {"hint:", row.Hint},
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
