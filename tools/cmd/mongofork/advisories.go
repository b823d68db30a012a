package main

import (
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"

	"mongofork/tools/fork"
)

type advisoriesCmd struct {
	Write bool `short:"w" help:"Update docs/security.md."`
}

func (c *advisoriesCmd) Run(a *app) error {
	if c.Write {
		changed, err := a.project.WriteSecurityPage()
		if err != nil {
			return err
		}
		state := "unchanged"
		if changed {
			state = "written"
		}
		fmt.Fprintf(a.out, "%s: %s\n", fork.SecurityPage, state)
		return nil
	}
	return a.printAdvisories()
}

// printAdvisories prints each advisory's state on every base.
func (a *app) printAdvisories() error {
	list, err := a.project.ReadAdvisories()
	if err != nil {
		return err
	}
	bases, err := a.project.Bases()
	if err != nil {
		return err
	}
	header := []any{"ADVISORY"}
	for _, base := range bases {
		header = append(header, base)
	}
	t := newTable(append(header, "TITLE")...)
	for _, advisory := range list {
		row := table.Row{advisory.ID}
		for _, base := range bases {
			row = append(row, advisory.State(base))
		}
		t.AppendRow(append(row, advisory.Title))
	}
	fmt.Fprintln(a.out, t.Render())
	return nil
}
