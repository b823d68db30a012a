package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"mongofork/bench/internal/page"
)

type overloadCmd struct {
	common
	Only string `placeholder:"REGEXP" help:"Measure only what matches of \"scenario: driver\", print the results and leave the pages alone. What matches nothing prints all."`
}

// Run measures all drivers under overload, in virtual time.
func (c *overloadCmd) Run(ctx context.Context, console console) error {
	arms := c.arms()
	entries, err := c.selected(arms)
	if err != nil {
		return err
	}
	all, err := c.measure(ctx, console, entries)
	if err != nil {
		return err
	}
	if c.Only != "" {
		for _, e := range entries {
			fmt.Fprintf(console.Out, "%s\n\n%s\n", e.Name, armTable(all, e.Name, e.columns(), e.arms...))
		}
		return nil
	}
	for _, t := range arms.tables(all) {
		if err := page.Write(c.file(t.page), t.marker, t.text); err != nil {
			return err
		}
	}
	return nil
}

// selected returns what the flag leaves.
func (c *overloadCmd) selected(arms arms) ([]entry, error) {
	only, err := regexp.Compile(c.Only)
	if err != nil {
		return nil, err
	}
	var entries []entry
	var all []string
	for _, e := range arms.scenarios() {
		left := e
		left.arms = nil
		for _, a := range e.arms {
			name := e.Name + ": " + a.name
			if all = append(all, name); only.MatchString(name) {
				left.arms = append(left.arms, a)
			}
		}
		if left.arms != nil {
			entries = append(entries, left)
		}
	}
	if entries == nil {
		return nil, fmt.Errorf("nothing matches %q; there are:\n%s", c.Only, strings.Join(all, "\n"))
	}
	return entries, nil
}
