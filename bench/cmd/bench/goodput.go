package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"mongofork/bench/internal/canned"
	"mongofork/bench/internal/drivers"
	"mongofork/bench/internal/goodput"
	"mongofork/bench/internal/report"
	"mongofork/bench/internal/result"
)

type goodputCmd struct {
	common
	Kind  []string `help:"Measure only these kinds of scenarios, and only print the results."`
	Storm int      `default:"500" help:"How many clients start at once; 0 leaves that out."`
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
	if len(c.Kind) == 0 {
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
		Scenarios: slices.DeleteFunc(goodput.Scenarios(), func(s goodput.Scenario) bool {
			return len(c.Kind) > 0 && !slices.Contains(c.Kind, s.Kind)
		}),
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
	builder := drivers.Builder{Module: c.file("bench"), Temp: temp, Environ: os.Environ()}
	upstream, fork := c.bothDrivers(goodput.Base)
	later := drivers.Driver{Name: goodput.TwoRetries, Version: goodput.Later}
	for _, driver := range []drivers.Driver{upstream, later, fork} {
		console.progressf("building the load with %s", driver.Name)
		program, err := builder.Build(ctx, driver, filepath.Join("cmd", "openloop"))
		if err != nil {
			return config, err
		}
		config.Arms = append(config.Arms, goodput.Arm{Name: driver.Name, Program: program})
		if driver == fork {
			const adaptive = "adaptiveRetries=true"
			config.Arms = append(config.Arms, goodput.Arm{Name: goodput.Adaptive, Program: program, Options: adaptive},
				goodput.Arm{Name: goodput.Single, Program: program, Options: adaptive, Clients: 1},
				goodput.Arm{Name: goodput.Drained, Program: program, Options: adaptive, Drain: true})
		}
	}
	return config, nil
}
