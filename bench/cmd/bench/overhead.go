package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mongofork/bench/internal/canned"
	"mongofork/bench/internal/drivers"
	"mongofork/bench/internal/goodput"
	"mongofork/bench/internal/overhead"
	"mongofork/bench/internal/report"
	"mongofork/bench/internal/result"
	"mongofork/bench/internal/workload"
)

type overheadCmd struct {
	common
	Base       string        `default:"v2.5.0" env:"BASE" help:"Version of upstream that the fork is built on ($BASE)."`
	Newer      string        `placeholder:"VERSION" help:"Also compare with this release of upstream's driver."`
	Rounds     int           `default:"36" help:"Number of rounds."`
	Each       time.Duration `default:"80ms" help:"How long the operations of a case take in a round with each driver."`
	Slices     int           `default:"4" help:"In how many slices the drivers take turns."`
	Limit      time.Duration `default:"7m" help:"Start no further round after this time."`
	Goroutines []int         `default:"1,8,64" help:"How many goroutines share a client."`
	Workload   []string      `help:"Measure only these workloads."`
	Server     bool          `default:"true" negatable:"" help:"Also measure on a real server: the one that $MONGODB_URI names, or a new one."`
}

// Validate is called by the parser.
func (c *overheadCmd) Validate() error {
	return errors.Join(atLeastOne("round", c.Rounds), atLeastOne("slice", c.Slices), atLeastOne("goroutine", c.Goroutines...))
}

// Run measures the drivers against each other.
func (c *overheadCmd) Run(ctx context.Context, console console) error {
	cases, err := c.cases()
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "bench-overhead-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	arms, err := c.build(ctx, console, temp)
	if err != nil {
		return err
	}
	if err := c.measureCanned(ctx, console, arms, cases); err != nil || !c.Server {
		return err
	}
	return c.measureServer(ctx, console, arms)
}

// measureCanned measures on a server that takes next to no time.
func (c *overheadCmd) measureCanned(ctx context.Context, console console, arms []overhead.Arm, cases []overhead.Case) error {
	setting := result.CurrentSetting("/", time.Now())
	server, err := canned.Start(ctx)
	if err != nil {
		return err
	}
	defer server.Close()
	results, err := overhead.Measure(ctx, overhead.Config{
		Arms: arms, Cases: cases, URI: server.URI(), Database: "bench", Rounds: c.Rounds, Run: c.Each, Slices: c.Slices,
		Limit: c.Limit, Now: time.Now,
		Progress: func(done, of int) { console.progressf("round %d of %d", done, of) },
	})
	if err != nil {
		return err
	}
	file := result.File[*overhead.Results]{Command: c.command(), Setting: setting, Results: results}
	if err := file.Write(c.results(report.OverheadFile(c.Base))); err != nil {
		return err
	}
	if err := c.writeTexts(console, results); err != nil {
		return err
	}
	return report.PrintOverhead(console.Out, results)
}

// command is the command that repeats the measurement.
func (c *overheadCmd) command() string {
	if c.Base == goodput.Base {
		return "make bench-overhead"
	}
	return "make bench-overhead BASE=" + c.Base
}

func (c *overheadCmd) cases() ([]overhead.Case, error) {
	names := c.Workload
	if len(names) == 0 {
		for _, w := range workload.All() {
			names = append(names, w.Name)
		}
	}
	var cases []overhead.Case
	for _, name := range names {
		if _, err := workload.Find(name); err != nil {
			return nil, err
		}
		for _, goroutines := range c.Goroutines {
			cases = append(cases, overhead.Case{Workload: name, Goroutines: goroutines})
		}
	}
	return cases, nil
}

// build builds the load with each driver.
func (c *overheadCmd) build(ctx context.Context, console console, temp string) ([]overhead.Arm, error) {
	builder := drivers.Builder{Module: c.file("bench"), Temp: temp, Environ: os.Environ()}
	upstream, fork := c.bothDrivers(c.Base)
	all := []drivers.Driver{upstream, fork}
	if c.Newer != "" && c.Newer != c.Base {
		all = append(all, drivers.Driver{Name: "upstream " + c.Newer, Version: c.Newer})
	}
	var arms []overhead.Arm
	for _, driver := range all {
		console.progressf("building the load with %s", driver.Name)
		program, err := builder.Build(ctx, driver, filepath.Join("cmd", "load"))
		if err != nil {
			return nil, err
		}
		arms = append(arms, overhead.Arm{Name: driver.Name, Program: program})
		switch driver {
		case upstream:
			// The difference between a driver and itself is that of the machine, and what the others must be read with.
			arms = append(arms, overhead.Arm{Name: driver.Name + ", again", Program: program})
		case fork:
			arms = append(arms, overhead.Arm{Name: "fork, adaptiveRetries", Program: program, Options: "adaptiveRetries=true"})
		}
	}
	return arms, nil
}

// writeTexts writes the samples of each arm for benchstat, and prints how to run it.
func (c *overheadCmd) writeTexts(console console, results *overhead.Results) error {
	folder := c.file("build", "bench")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	command := "go -C bench tool benchstat"
	for _, arm := range results.Arms {
		name := strings.NewReplacer(" ", "-", ",", "").Replace(arm) + ".txt"
		if err := os.WriteFile(filepath.Join(folder, name), []byte(results.Text(arm)), 0o644); err != nil {
			return err
		}
		command += " ../build/bench/" + name
	}
	console.progressf("to see the same samples through benchstat: %s", command)
	return nil
}
