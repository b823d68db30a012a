package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mongofork/bench/internal/page"
)

type overloadCmd struct {
	common
	Only string `placeholder:"REGEXP" help:"Measure only scenarios whose names match, print the results and leave the pages alone. What matches nothing prints all names."`
	Arm  string `placeholder:"REGEXP" help:"The same with only the drivers whose names match."`
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
	if c.Only != "" || c.Arm != "" {
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

// selected returns what the flags leave.
func (c *overloadCmd) selected(arms arms) ([]entry, error) {
	only, err := regexp.Compile(c.Only)
	if err != nil {
		return nil, err
	}
	drivers, err := regexp.Compile(c.Arm)
	if err != nil {
		return nil, err
	}
	var entries []entry
	var names []string
	for _, e := range arms.scenarios() {
		names = append(names, e.Name)
		e.arms = slices.DeleteFunc(e.arms, func(a arm) bool { return !drivers.MatchString(a.name) })
		if only.MatchString(e.Name) && len(e.arms) > 0 {
			entries = append(entries, e)
		}
	}
	if entries == nil {
		return nil, fmt.Errorf("no scenario with drivers is called like %q with %q; there are: %s", c.Only, c.Arm, strings.Join(names, "; "))
	}
	return entries, nil
}
