package main

import (
	"errors"
	"fmt"

	"golang.org/x/mod/semver"

	"mongofork/tools/fork/drift"
	"mongofork/tools/fork/syntax"
)

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
	if err != nil {
		return err
	}
	report, err := a.project.Drift(a.ctx, c.Version)
	if err != nil {
		return err
	}
	review := c.print(a, report)
	summary := fmt.Sprintf("%d of %d need review before the overlay is used with %s", review,
		len(report.Rows)+len(report.Added)+len(report.Misfits), c.Version)
	if newest := bases[len(bases)-1]; semver.Compare(c.Version, newest) > 0 {
		return fmt.Errorf("%s\n%s is newer than the newest base, %s: read it, and make it a base (tools/fork/README.md)",
			summary, c.Version, newest)
	}
	if review > 0 {
		return errors.New(summary)
	}
	a.printf("%s\n", summary)
	return nil
}

// print prints what needs review and returns how much that is.
func (c *driftCmd) print(a *app, report *drift.Report) (review int) {
	for _, row := range report.Rows {
		if !row.NeedsReview() {
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
		}
		if c.Diff && len(row.Now) > 0 {
			a.printf("%s", row.Diff())
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
