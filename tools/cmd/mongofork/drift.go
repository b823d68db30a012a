package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"mongofork/tools/fork"
	"mongofork/tools/fork/drift"
)

type driftCmd struct {
	Version  string `arg:"" optional:"" help:"The version to compare with, such as v2.9.3. Without it every release since the lowest base is compared with the nearest base below it, and summarized."`
	Diff     bool   `short:"v" help:"Print upstream's change of each declaration."`
	JSON     bool   `name:"json" help:"Print JSON."`
	Markdown bool   `help:"Print a Markdown table."`
}

func (c *driftCmd) Run(a *app) error {
	if a.checkout != nil {
		return c.commit(a)
	}
	if c.Version == "" {
		return c.survey(a)
	}
	rows, err := a.project.Drift(a.ctx, a.project.Source, c.Version)
	if err != nil {
		return err
	}
	if err := c.print(a, rows); err != nil {
		return err
	}
	if err := c.printAffecting(a); err != nil {
		return err
	}
	if review := toReview(rows); review > 0 {
		return findings{fmt.Sprintf("%d of %d need review before the overlay is used with %s", review, len(rows), c.Version)}
	}
	return nil
}

func toReview(rows []drift.Row) int {
	review := 0
	for _, row := range rows {
		if row.Class.NeedsReview() {
			review++
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
	if err := c.printSurvey(a, rows); err != nil {
		return err
	}
	var waiting []string
	for _, row := range rows {
		if row.Newest && row.Review > 0 {
			waiting = append(waiting, fmt.Sprintf("%s (%d of %d)", row.Version, row.Review, row.Total))
		}
	}
	if len(waiting) > 0 {
		return findings{"newer than every base, and need review: " + strings.Join(waiting, ", ")}
	}
	return nil
}

func (c *driftCmd) printSurvey(a *app, rows []fork.SurveyRow) error {
	if c.JSON {
		return printJSON(a, rows)
	}
	advisories, err := a.project.ReadAdvisories()
	if err != nil {
		return err
	}
	t := newTable("RELEASE", "COMPARED WITH", "REVIEW", "OF", "BODY", "SIGNATURE", "GONE", "COLLIDES", "ADVISORIES")
	for _, row := range rows {
		base := row.Base
		if row.Locked() {
			base = "is a base"
		}
		n := row.Classes
		t.AppendRow(table.Row{row.Version, base, row.Review, row.Total, n[drift.Body], n[drift.Signature], n[drift.Gone], n[drift.Collides],
			strings.Join(advisories.Affecting(row.Version), " ")})
	}
	c.printTable(a, t)
	if c.Markdown || len(advisories) == 0 {
		return nil
	}
	fmt.Fprintln(a.out)
	return a.printAdvisories()
}

// printAffecting lists the advisories that affect the release.
func (c *driftCmd) printAffecting(a *app) error {
	advisories, err := a.project.ReadAdvisories()
	if err != nil || c.JSON || len(advisories) == 0 {
		return err
	}
	have := advisories.Affecting(c.Version)
	if len(have) == 0 {
		have = []string{"none"}
	}
	fmt.Fprintf(a.out, "\nadvisories that %s has: %s\n", c.Version, strings.Join(have, ", "))
	return nil
}

func printJSON(a *app, rows any) error {
	enc := json.NewEncoder(a.out)
	enc.SetIndent("", "  ")
	return enc.Encode(rows)
}

func (c *driftCmd) printTable(a *app, t table.Writer) {
	rendered := t.Render()
	if c.Markdown {
		rendered = t.RenderMarkdown()
	}
	fmt.Fprintln(a.out, rendered)
}

func (c *driftCmd) print(a *app, rows []drift.Row) error {
	if c.JSON {
		return printJSON(a, rows)
	}
	t := newTable("CLASS", "DECLARATION", "HOW", "STEP", "OURS", a.project.Base, c.Version, "HINT")
	for _, row := range rows {
		t.AppendRow(table.Row{row.Class, row.Subject, row.How, row.Step, row.Ours, row.Was, row.Now, row.Hint})
	}
	c.printTable(a, t)
	for _, row := range rows {
		if c.Diff && row.Diff != "" {
			fmt.Fprintf(a.out, "\n%s (%s)\n%s", row.Subject, row.Class, row.Diff)
		}
	}
	return nil
}
