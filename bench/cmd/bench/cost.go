package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"mongofork/bench/internal/drivers"
	"mongofork/bench/internal/page"
)

// benchstat compares benchmarks.
const benchstat = "golang.org/x/perf/cmd/benchstat@v0.0.0-20260409210113-8e83ce0f7b1c"

type costCmd struct {
	common
	Rounds int           `default:"10" help:"How often each driver takes its turn."`
	Each   time.Duration `default:"100ms" help:"How long each operation is measured in a round."`
	Page   bool          `help:"Also write the tables to docs/performance/cost.md."`
}

// Validate is called by the parser.
func (c *costCmd) Validate() error {
	if c.Rounds < 1 {
		return fmt.Errorf("there must be at least one round, not %d", c.Rounds)
	}
	return nil
}

// costArm is a driver with options, and the file of its results.
type costArm struct{ name, program, options, results string }

// Run measures the drivers in turns, so that what changes on the machine meets all of them.
func (c *costCmd) Run(ctx context.Context, console console) error {
	oldest, newest, err := drivers.Bases(c.Root)
	if err != nil {
		return err
	}
	for _, compared := range [][2]string{{"oldest", oldest}, {"newest", newest}} {
		marker, base := compared[0], compared[1]
		arms, err := c.arms(ctx, drivers.New(c.Root, base, false), drivers.New(c.Root, base, true))
		if err != nil {
			return err
		}
		for round := range c.Rounds {
			console.progressf("%s: round %d of %d", base, round+1, c.Rounds)
			for _, arm := range arms {
				if err := c.measure(ctx, arm); err != nil {
					return err
				}
			}
		}
		if err := c.compare(ctx, console, base, marker, arms); err != nil {
			return err
		}
	}
	return nil
}

// arms compiles the benchmarks with both drivers.
func (c *costCmd) arms(ctx context.Context, upstream, fork drivers.Driver) ([]costArm, error) {
	folder := c.file("build", "bench", "cost", upstream.Base)
	if err := errors.Join(os.RemoveAll(folder), os.MkdirAll(folder, 0o700)); err != nil {
		return nil, err
	}
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	untouched, err := upstream.Compile(ctx, c.file("bench"), "./cost", absolute)
	if err != nil {
		return nil, err
	}
	ours, err := fork.Compile(ctx, c.file("bench"), "./cost", absolute)
	file := func(name string) string { return filepath.Join(absolute, name+".txt") }
	return []costArm{
		{"upstream", untouched, "", file("upstream")},
		{"fork", ours, "", file("fork")},
		{"adaptiveThrottling", ours, "adaptiveThrottling=true", file("adaptiveThrottling")},
	}, err
}

// measure appends an arm's results of one round to its file.
func (c *costCmd) measure(ctx context.Context, arm costArm) error {
	results, err := os.OpenFile(arm.results, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, arm.program, "-test.run=^$", "-test.bench=.", "-test.benchtime="+c.Each.String())
	cmd.Env = append(os.Environ(), "BENCH_OPTIONS="+arm.options)
	var messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = results, &messages
	if err := cmd.Run(); err != nil {
		return errors.Join(fmt.Errorf("%s: %w\n%s", arm.name, err, &messages), results.Close())
	}
	return results.Close()
}

// compare prints benchstat's tables, in which "~" stands where a difference may be chance, and writes them to the page if wanted.
func (c *costCmd) compare(ctx context.Context, console console, base, marker string, arms []costArm) error {
	const bytesPerOp = "B/op" // for who looks for the reason of a difference in time; the page does without
	for _, unit := range []string{"sec/op", bytesPerOp, "allocs/op"} {
		args := []string{"run", benchstat, "-filter", ".unit:" + unit}
		for _, arm := range arms {
			args = append(args, arm.name+"="+arm.results)
		}
		cmd := exec.CommandContext(ctx, "go", args...)
		var messages bytes.Buffer
		cmd.Stderr = &messages
		table, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("benchstat: %w\n%s", err, &messages)
		}
		fmt.Fprintf(console.Out, "%s\n%s\n", base, table)
		if !c.Page || unit == bytesPerOp {
			continue
		}
		text := page.Preformatted(string(table))
		if err := page.Write(c.file("docs", "performance", "cost.md"), "cost "+marker+" "+unit, text); err != nil {
			return err
		}
	}
	return nil
}
