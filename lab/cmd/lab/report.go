package main

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/jedib0t/go-pretty/v6/table"

	"mongofork/lab/internal/soak"
)

// writeSoak writes a report as a table.
func writeSoak(out io.Writer, seed uint64, report *soak.Report) {
	t := table.NewWriter()
	t.SetTitle("soak, seed %d", seed)
	t.AppendHeader(table.Row{"", "kind", "count"})
	rows := func(title string, counts map[string]int64) {
		for _, kind := range slices.Sorted(maps.Keys(counts)) {
			t.AppendRow(table.Row{title, kind, counts[kind]})
		}
		t.AppendSeparator()
	}
	rows("operations", report.Operations)
	rows("errors that the application saw", report.Errors)
	violations := make(map[string]int64)
	for kind, v := range report.Violations {
		violations[kind] = v.Count
	}
	if len(violations) == 0 {
		violations["none"] = 0
	}
	rows("violations", violations)
	fmt.Fprintln(out, t.Render())
	for _, note := range report.Notes {
		fmt.Fprintln(out, note)
	}
	for _, kind := range slices.Sorted(maps.Keys(report.Violations)) {
		fmt.Fprintf(out, "the first of %s: %s\n", kind, report.Violations[kind].Example)
	}
}
