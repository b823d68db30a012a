package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mongofork/bench/internal/canned"
	"mongofork/bench/internal/drivers"
	"mongofork/bench/internal/goodput"
	"mongofork/bench/internal/interpreted"
	"mongofork/bench/internal/report"
	"mongofork/bench/internal/result"
)

type goodputCmd struct {
	common
	Kind  []string `help:"Measure only these kinds of scenarios, such as storm, and only print the results."`
	Arm   []string `sep:"none" help:"Measure only these drivers, by the names that the page has, and only print the results."`
	Storm int      `default:"500" help:"How many clients start at once; 0 leaves that out."`
	// OtherDrivers needs package registries.
	OtherDrivers bool `default:"true" negatable:"" help:"Measure PyMongo and the driver for Node.js, too, if their interpreters are installed."`
}

// Validate is called by the parser.
func (c *goodputCmd) Validate() error {
	known := append(goodput.Kinds(), goodput.StormKind)
	for _, kind := range c.Kind {
		if !slices.Contains(known, kind) {
			return fmt.Errorf("there is no kind %q of scenarios; give some of %s", kind, strings.Join(known, ", "))
		}
	}
	if len(c.Kind) > 0 && !slices.Contains(c.Kind, goodput.StormKind) {
		c.Storm = 0
	}
	return nil
}

// Run measures the drivers under overload.
func (c *goodputCmd) Run(ctx context.Context, console console) error {
	setting := result.CurrentSetting("/", time.Now())
	temp, err := os.MkdirTemp("", "bench-goodput-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	config, err := c.build(ctx, console, temp)
	if err != nil {
		return err
	}
	backend, err := canned.Start(ctx)
	if err != nil {
		return err
	}
	defer backend.Close()
	config.Backend = backend.URI()
	results, err := goodput.Measure(ctx, config)
	if err != nil {
		return err
	}
	if len(c.Kind) == 0 && len(c.Arm) == 0 {
		file := result.File[*goodput.Results]{Command: "make bench-goodput", Setting: setting, Results: results}
		if err := file.Write(c.results(report.GoodputFile)); err != nil {
			return err
		}
		if err := report.DrawGoodput(results, c.file("docs", "performance")); err != nil {
			return err
		}
	}
	return report.PrintGoodput(console.Out, results)
}

// build builds the lab, and the load with each driver.
func (c *goodputCmd) build(ctx context.Context, console console, temp string) (goodput.Config, error) {
	config := goodput.Config{
		Lab: filepath.Join(temp, "lab"), Root: "/",
		Storm: goodput.Storm{Clients: c.Storm, PerSecond: 100, Queue: 50, Limit: 30 * time.Second},
		Progress: func(done, of int, what string) {
			console.progressf("%d of %d: %s", done+1, of, what)
		},
	}
	console.progressf("building the lab")
	lab := drivers.Builder{Module: c.file("lab"), Environ: os.Environ()}
	if _, err := lab.Go(ctx, "build", "-o", config.Lab, "./cmd/lab"); err != nil {
		return config, fmt.Errorf("build the lab: %w", err)
	}
	compiled, err := c.goDrivers(ctx, console, temp)
	if err != nil {
		return config, err
	}
	others, err := c.otherDrivers(ctx, console)
	if err != nil {
		return config, err
	}
	config.Arms = slices.DeleteFunc(slices.Concat(compiled, others), func(a goodput.Arm) bool {
		return len(c.Arm) > 0 && !slices.Contains(c.Arm, a.Name)
	})
	config.Scenarios = slices.DeleteFunc(goodput.Scenarios(), func(s goodput.Scenario) bool {
		unwanted := len(c.Kind) > 0 && !slices.Contains(c.Kind, s.Kind)
		return unwanted || !slices.ContainsFunc(config.Arms, func(a goodput.Arm) bool { return slices.Contains(s.Arms, a.Name) })
	})
	return config, nil
}

// goDrivers builds the load with the drivers for Go.
func (c *goodputCmd) goDrivers(ctx context.Context, console console, temp string) ([]goodput.Arm, error) {
	builder := drivers.Builder{Module: c.file("bench"), Temp: temp, Environ: os.Environ()}
	upstream, fork := c.bothDrivers(goodput.Base)
	later := drivers.Driver{Name: goodput.TwoRetries, Version: goodput.Later}
	var arms []goodput.Arm
	for _, driver := range []drivers.Driver{upstream, later, fork} {
		console.progressf("building the load with %s", driver.Name)
		program, err := builder.Build(ctx, driver, filepath.Join("cmd", "openloop"))
		if err != nil {
			return nil, err
		}
		arms = append(arms, goodput.Arm{Name: driver.Name, Program: program})
		if driver == fork {
			const adaptive = "adaptiveRetries=true"
			arms = append(arms, goodput.Arm{Name: goodput.Adaptive, Program: program, Options: adaptive},
				goodput.Arm{Name: goodput.Single, Program: program, Options: adaptive, Clients: 1},
				goodput.Arm{Name: goodput.Drained, Program: program, Options: adaptive, Drain: true})
		}
	}
	return arms, nil
}

// otherDrivers installs the loads with drivers of other languages, as far as there are interpreters.
func (c *goodputCmd) otherDrivers(ctx context.Context, console console) ([]goodput.Arm, error) {
	if !c.OtherDrivers {
		return nil, nil
	}
	installer := interpreted.Installer{Source: c.file("bench", "arms"), Target: c.file("build", "bench", "arms")}
	var arms []goodput.Arm
	for _, other := range []struct {
		name    string
		install func(context.Context) (*interpreted.Program, error)
	}{{goodput.PyMongo, installer.PyMongo}, {goodput.NodeDriver, installer.NodeDriver}} {
		console.progressf("installing the load with %s", other.name)
		program, err := other.install(ctx)
		switch {
		case errors.Is(err, exec.ErrNotFound):
			console.progressf("it is left out: %v", err)
		case err != nil:
			return nil, fmt.Errorf("%w\nTo do without drivers of other languages, run: go -C bench run ./cmd/bench goodput --no-other-drivers", err)
		default:
			arms = append(arms, goodput.Arm{Name: other.name, Program: program.Path, Script: program.Args})
		}
	}
	return arms, nil
}
