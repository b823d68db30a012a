package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"mongofork/bench/internal/page"
)

type overloadCmd struct {
	common
	Only  string `placeholder:"REGEXP" help:"Measure only scenarios whose names match, print the results and leave the pages alone. What matches nothing prints all names."`
	Arm   string `placeholder:"REGEXP" help:"The same with only the drivers whose names match."`
	Seeds int    `placeholder:"N" help:"How many runs each of the two gets; a scenario's own number if it is not given."`
	From  string `placeholder:"FILE" help:"Write the pages from the results of an earlier run, build/bench/overload.json, but for what --only and --arm select: that is measured anew."`
}

// Run measures all drivers under overload, in virtual time.
func (c *overloadCmd) Run(ctx context.Context, console console) error {
	arms, err := c.arms()
	if err != nil {
		return err
	}
	all, part := measured{}, c.Only != "" || c.Arm != "" || c.Seeds != 0
	if c.From != "" {
		if all, err = read(c.From); err != nil {
			return err
		}
	}
	if part || c.From == "" {
		entries, err := c.selected(arms)
		if err != nil {
			return err
		}
		anew, err := c.measure(ctx, console, entries, c.Seeds)
		if err != nil {
			return err
		}
		maps.Copy(all, anew)
		if part {
			for _, e := range entries {
				fmt.Fprintf(console.Out, "%s\n\n%s\n", e.Name, armTable(all, e.Name, e.columns(), e.arms...))
			}
		}
		if part && c.From == "" {
			return nil
		}
		if err := all.save(c.file("build", "bench", "overload.json")); err != nil {
			return err
		}
	}
	return c.write(arms, all)
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
	var names strings.Builder
	for _, e := range arms.scenarios() {
		fmt.Fprintf(&names, "\n%s:", e.Name)
		for _, a := range e.arms {
			fmt.Fprintf(&names, " %s;", a.name)
		}
		e.arms = slices.DeleteFunc(e.arms, func(a arm) bool { return !drivers.MatchString(a.name) })
		if only.MatchString(e.Name) && len(e.arms) > 0 {
			entries = append(entries, e)
		}
	}
	if entries == nil {
		return nil, fmt.Errorf("no scenario with drivers is called like %q with %q; there are:%s", c.Only, c.Arm, &names)
	}
	return entries, nil
}

// write writes the tables and plots.
func (c *overloadCmd) write(arms arms, all measured) error {
	for _, t := range arms.tables(all) {
		if err := page.Write(c.file(t.page), t.marker, t.text); err != nil {
			return err
		}
	}
	for _, chart := range arms.plots(all) {
		if err := chart.save(c.file("docs", "performance")); err != nil {
			return err
		}
	}
	return nil
}

// save writes the results as JSON, by scenario and arm.
func (m measured) save(file string) error {
	byScenario := map[string]map[string]result{}
	for k, r := range m {
		if byScenario[k.scenario] == nil {
			byScenario[k.scenario] = map[string]result{}
		}
		byScenario[k.scenario][k.arm] = r
	}
	encoded, err := json.MarshalIndent(byScenario, "", "\t")
	if err != nil {
		return err
	}
	return errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, encoded, 0o600))
}

func read(file string) (measured, error) {
	encoded, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	byScenario := map[string]map[string]result{}
	if err := json.Unmarshal(encoded, &byScenario); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	all := measured{}
	for scenario, arms := range byScenario {
		for name, r := range arms {
			all[key{scenario, name}] = r
		}
	}
	return all, nil
}
