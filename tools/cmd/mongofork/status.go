package main

import (
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"mongofork/tools/fork/syntax"
)

type statusCmd struct {
	All bool `help:"List added and watched declarations too."`
}

func (c *statusCmd) Run(a *app) error {
	plan, err := a.project.Match(a.ctx)
	if err != nil {
		return err
	}
	advisories, err := a.project.ReadAdvisories()
	if err != nil {
		return err
	}
	t := newTable("FOLDER", "DECLARATION", "HOW", "OURS", "LINES", "UPSTREAM", "REASON")
	var ours, theirs int
	for _, row := range plan.Status() {
		touched := row.How != "add" && row.How != string(syntax.Watch)
		ours += row.Ours
		if touched {
			theirs += row.Theirs
		}
		if touched || c.All {
			t.AppendRow(table.Row{row.Key.Package, row.Key.Name, row.How, row.At, row.Ours, row.Theirs, row.Reason})
		}
	}
	fmt.Fprintf(a.out, "%s\n\n%s: %s\n%d lines of ours; %d lines of upstream's are replaced, wrapped or extended\n%s\n",
		t.Render(), plan.Module, plan.Counts(), ours, theirs, advisories.Summary(a.project.Base))
	return nil
}

// newTable returns a table without borders, which also greps well.
func newTable(header ...any) table.Writer {
	t := table.NewWriter()
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft = ""
	style.Format.Header = text.FormatDefault
	t.SetStyle(style)
	t.AppendHeader(header)
	t.SuppressTrailingSpaces()
	return t
}
