package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mongofork/bench/internal/canned"
	"mongofork/bench/internal/drivers"
	"mongofork/bench/internal/goodput"
	"mongofork/bench/internal/report"
	"mongofork/bench/internal/result"
)

// overloadFlags are the flags of the commands that measure drivers under overload.
type overloadFlags struct {
	common
	Kind  []string `help:"Measure only these kinds of scenarios, such as storm, and only print the results."`
	Arm   []string `sep:"none" help:"Measure only these drivers, by their names on the page, and only print the results."`
	Storm int      `default:"500" help:"Clients that start at once; 0 skips that, and only prints the results."`
}

// Kinds besides scenarios.
const (
	stormKind  = "storm"
	serverKind = "server" // with a real server behind the lab
	fleetsKind = "fleets" // one client, and a hundred
)

// validate checks the kinds, which include some besides scenarios.
func (f *overloadFlags) validate(more ...string) error {
	known := slices.Concat(goodput.Kinds(), more)
	for _, kind := range f.Kind {
		if !slices.Contains(known, kind) {
			return fmt.Errorf("there is no kind %q of scenarios; give some of %s", kind, strings.Join(known, ", "))
		}
	}
	if !f.wants(stormKind) {
		f.Storm = 0
	}
	return nil
}

// wants tells whether a kind is to be measured.
func (f *overloadFlags) wants(kind string) bool {
	return len(f.Kind) == 0 || slices.Contains(f.Kind, kind)
}

// everything tells whether all is measured, so that the results can be kept.
func (f *overloadFlags) everything() bool { return len(f.Kind) == 0 && len(f.Arm) == 0 && f.Storm > 0 }

// build builds the lab, and the load with each driver for Go that one of the scenarios has.
func (f *overloadFlags) build(ctx context.Context, console console, temp string, scenarios []goodput.Scenario) (goodput.Config, error) {
	config := goodput.Config{
		Lab: filepath.Join(temp, "lab"), Root: "/", Scenarios: scenarios,
		Progress: func(done, of int, what string) {
			console.progressf("%d of %d: %s", done+1, of, what)
		},
	}
	console.progressf("building the lab")
	lab := drivers.Builder{Module: f.file("lab"), Environ: os.Environ()}
	if _, err := lab.Go(ctx, "build", "-o", config.Lab, "./cmd/lab"); err != nil {
		return config, fmt.Errorf("build the lab: %w", err)
	}
	builder := drivers.Builder{Module: f.file("bench"), Temp: temp, Environ: os.Environ()}
	upstream, fork := f.bothDrivers(goodput.Base)
	all := []drivers.Driver{upstream, {Name: goodput.TwoRetries, Version: goodput.Later}, fork}
	for _, driver := range all {
		arms := slices.DeleteFunc(armsOf(driver.Name), func(a goodput.Arm) bool { return !usedBy(scenarios, a) })
		if len(arms) == 0 {
			continue
		}
		console.progressf("building the load with %s", driver.Name)
		program, err := builder.Build(ctx, driver, filepath.Join("cmd", "openloop"))
		if err != nil {
			return config, err
		}
		for _, arm := range arms {
			arm.Program = program
			config.Arms = append(config.Arms, arm)
		}
	}
	return config, nil
}

// armsOf returns the arms with a driver for Go.
func armsOf(driver string) []goodput.Arm {
	if driver != goodput.Fork {
		return []goodput.Arm{{Name: driver}}
	}
	const adaptive = "adaptiveRetries=true"
	return []goodput.Arm{
		{Name: driver},
		{Name: goodput.Adaptive, Options: adaptive},
		{Name: goodput.Single, Options: adaptive, Clients: 1},
		{Name: goodput.Drained, Options: adaptive, Drain: true},
		{Name: goodput.Throttling, Options: "adaptiveThrottling=true"},
	}
}

// usedBy tells whether one of the scenarios has an arm.
func usedBy(scenarios []goodput.Scenario, arm goodput.Arm) bool {
	return slices.ContainsFunc(scenarios, func(s goodput.Scenario) bool { return slices.Contains(s.Arms, arm.Name) })
}

// chosen leaves out what the flags do not ask for.
func (f *overloadFlags) chosen(config goodput.Config) goodput.Config {
	config.Arms = f.chosenArms(config.Arms)
	config.Scenarios = slices.DeleteFunc(slices.Clone(config.Scenarios), func(s goodput.Scenario) bool {
		chosen := func(arm string) bool {
			return slices.ContainsFunc(config.Arms, func(a goodput.Arm) bool { return a.Name == arm })
		}
		if s.Shared {
			return !f.wants(s.Kind) || slices.ContainsFunc(s.Arms, func(arm string) bool { return !chosen(arm) })
		}
		return !f.wants(s.Kind) || !slices.ContainsFunc(s.Arms, chosen)
	})
	return config
}

func (f *overloadFlags) chosenArms(arms []goodput.Arm) []goodput.Arm {
	return slices.DeleteFunc(slices.Clone(arms), func(a goodput.Arm) bool {
		return len(f.Arm) > 0 && !slices.Contains(f.Arm, a.Name)
	})
}

// measureCanned measures before a backend that answers everything at once, and prints the results. It also keeps them in a file, if
// asked to.
func (f *overloadFlags) measureCanned(ctx context.Context, console console, config goodput.Config, file result.File[*goodput.Results], name string, keep bool) error {
	backend, err := canned.Start(ctx)
	if err != nil {
		return err
	}
	defer backend.Close()
	config.Backend, config.Database = backend.URI(), "bench"
	if file.Results, err = goodput.Measure(ctx, config); err != nil {
		return err
	}
	if keep {
		if err := file.Write(f.results(name)); err != nil {
			return err
		}
	}
	return report.PrintGoodput(console.Out, file.Results)
}
