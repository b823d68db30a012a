package main

import (
	"fmt"
	"strings"

	"mongofork/tools/fork/drift"
)

type driftCmd struct {
	Version string `arg:"" optional:"" help:"The version to compare with, such as v2.10.0. Without it every release since the lowest base is compared with the nearest base below it, and summarized."`
	Diff    bool   `short:"v" help:"Print upstream's change of each declaration."`
}

func (driftCmd) Help() string {
	return "Lists what has to be reviewed before the overlay is used with the other version, and exits with 1 if there is any: a body or " +
		"a signature that changed, a declaration that is gone, a name that collides with one of ours."
}

func (c *driftCmd) Run(a *app) error {
	if c.Version == "" {
		return c.survey(a)
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

// survey summarizes the drift of every release. A release above all bases that needs review is a finding; those between bases are
// informational.
func (c *driftCmd) survey(a *app) error {
	rows, err := a.project.Survey(a.ctx)
	if err != nil {
		return err
	}
	advisories, err := a.project.ReadAdvisories()
	if err != nil {
		return err
	}
	var waiting []string
	for _, row := range rows {
		if row.Locked() {
			fmt.Fprintf(a.out, "%-9s is a base", row.Version)
		} else {
			fmt.Fprintf(a.out, "%-9s %d of %d to review since %s", row.Version, row.Review, row.Total, row.Base)
		}
		fmt.Fprintf(a.out, "; has %d of %d advisories\n", len(advisories.Affecting(row.Version)), len(advisories))
		if row.Newest && row.Review > 0 {
			waiting = append(waiting, row.Version)
		}
	}
	if len(waiting) > 0 {
		return findings{"newer than every base, and need review: " + strings.Join(waiting, ", ")}
	}
	return nil
}
