package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"mongofork/tools/fork"
	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/drift"
	"mongofork/tools/fork/series"
)

// commit compares the base with the commit that --source names, declaration by declaration and patch by patch.
func (c *driftCmd) commit(a *app) error {
	if c.Version != "" {
		return errors.New("drift compares the base with a version or with --source, not with both: leave one out")
	}
	released := &fork.Project{Root: a.project.Root, Base: a.project.Base, Source: a.checkout.Releases}
	rows, err := released.Drift(a.ctx, a.checkout, a.project.Base)
	if err != nil {
		return err
	}
	patches, _, err := released.SeriesPatches(a.ctx, a.run, "mongofork <mongofork@localhost>")
	if err != nil {
		return err
	}
	pristine, err := released.Pristine(a.ctx)
	if err != nil {
		return err
	}
	module, err := a.checkout.Module(a.ctx, modulePath, a.project.Base)
	if err != nil {
		return err
	}
	tried, err := series.Try(a.ctx, a.run, pristine.Tree, assemble.Pristine(module).Tree, patches)
	if err != nil {
		return err
	}
	c.Version = a.checkout.Date
	if c.JSON {
		err = printJSON(a, map[string]any{"commit": a.checkout.Commit, "date": a.checkout.Date, "declarations": rows, "patches": tried})
	} else {
		err = errors.Join(c.print(a, rows), c.printSteps(a, rows, tried))
	}
	if err != nil {
		return err
	}
	return c.sum(a, rows, tried)
}

// printSteps prints how much of each step of the series needs review and whether its patch applies.
func (c *driftCmd) printSteps(a *app, rows []drift.Row, tried []series.TriedPatch) error {
	review := map[string]int{}
	for _, row := range rows {
		if row.Class.NeedsReview() {
			review[row.Step]++
		}
	}
	t := newTable("STEP", "TO READ", "PATCH OF "+a.project.Base, "IN")
	for _, patch := range tried {
		t.AppendRow(table.Row{patch.Step, review[patch.Step], patch.Result, firstOf(patch.Conflicts)})
	}
	_, err := fmt.Fprintln(a.out)
	c.printTable(a, t)
	return err
}

// sum summarizes the comparison. Anything that needs review is a finding.
func (c *driftCmd) sum(a *app, rows []drift.Row, tried []series.TriedPatch) error {
	count := map[string]int{}
	for _, patch := range tried {
		count[patch.Result]++
	}
	review := toReview(rows)
	summary := fmt.Sprintf("%s: %d of %d declarations and names need review; of %d patches %d apply, %d merge, %d conflict",
		a.checkout, review, len(rows), len(tried), count[series.Applies], count[series.Merges], count[series.Conflicts])
	if review > 0 || count[series.Conflicts] > 0 {
		return findings{summary}
	}
	if !c.JSON {
		fmt.Fprintln(a.out, summary)
	}
	return nil
}

// firstOf lists the first files of a list that may be long.
func firstOf(files []string) string {
	const shown = 3
	if len(files) <= shown {
		return strings.Join(files, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(files[:shown], ", "), len(files)-shown)
}
