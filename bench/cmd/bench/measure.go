package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"mongofork/bench/overload"
)

// measured are results by scenario and arm.
type measured map[key]overload.Result

type key struct{ scenario, arm string }

// arms returns the arms of the bases.
func (c common) arms() arms { return newArms(c.Older, c.Newer) }

// program returns the path of the load with an arm's driver, which "make bench" has compiled.
func (c common) program(a arm) string {
	driver := a.base
	if !a.fork {
		driver = filepath.Join("pristine", a.base)
	}
	return c.file("build", "with", driver, "overload.test")
}

// run runs a job with an arm's driver.
func (c common) run(ctx context.Context, a arm, job overload.Job) (result overload.Result, err error) {
	job.Options, job.Spent, job.Throttler = a.options, a.spent, a.throttler
	input, err := json.Marshal(job)
	if err != nil {
		return result, err
	}
	output, err := os.CreateTemp("", "result-*.json")
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, output.Close(), os.Remove(output.Name())) }()
	cmd := exec.CommandContext(ctx, c.program(a), "-test.run=^TestJob$")
	// A bubble runs one goroutine after the other, and keeps little of what it allocates.
	cmd.Env = append(os.Environ(), "BENCH_RESULT="+output.Name(), "GOMAXPROCS=1", "GOGC=400")
	cmd.Stdin = bytes.NewReader(input)
	said, err := cmd.CombinedOutput()
	if err != nil {
		return result, fmt.Errorf("%s, %s, seed %d: %w\n%s", job.Scenario.Name, a.name, job.Seed, err, said)
	}
	return result, json.NewDecoder(output).Decode(&result)
}

// measure runs all scenarios with all their arms on all processors, each as often as it has seeds.
func (c common) measure(ctx context.Context, console console, entries []entry) (measured, error) {
	total := 0
	for _, e := range entries {
		for _, a := range e.arms {
			total += e.runs(a)
		}
	}
	runs := map[key][]overload.Result{}
	var done atomic.Int32
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.NumCPU())
	for _, e := range entries {
		for _, a := range e.arms {
			results := make([]overload.Result, e.runs(a))
			runs[key{e.Name, a.name}] = results
			for i := range results {
				group.Go(func() (err error) {
					results[i], err = c.run(ctx, a, overload.Job{Scenario: e.Scenario, Seed: uint64(i) + 1})
					console.progressf("%d of %d: %s, %s", done.Add(1), total, e.Name, a.name)
					return err
				})
			}
		}
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	all := measured{}
	for k, results := range runs {
		all[k] = overload.Mean(results)
	}
	return all, nil
}
