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
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"mongofork/bench/overload"
	"mongofork/tools/drivermod"
)

// measured are results by scenario and arm.
type measured map[key]overload.Result

type key struct{ scenario, arm string }

// programs are the loads' programs, one for each driver.
type programs struct {
	folder string
	paths  map[driver]string
}

type driver struct {
	base string
	fork bool
}

func (a arm) driver() driver { return driver{a.base, a.fork} }

// arms returns the arms of the bases.
func (c common) arms() arms { return newArms(c.Older, c.Newer) }

// compile compiles the load with the drivers of the arms, which "make bench" has built, in a folder that the caller removes.
func (c common) compile(ctx context.Context, folder string, all []arm) (*programs, error) {
	p := &programs{folder: folder, paths: map[driver]string{}}
	for _, a := range all {
		if _, ok := p.paths[a.driver()]; ok {
			continue
		}
		built, name, tags := c.file("build", "pristine", a.base), "upstream-"+a.base, []string{}
		if a.fork {
			built, name, tags = c.file("build", a.base), "fork-"+a.base, []string{"criticality"}
		}
		// Only newer drivers have a generator of the package for jitter.
		if _, err := os.Stat(filepath.Join(built, "internal", "randutil", "jitter.go")); err == nil {
			tags = append(tags, "jitter")
		}
		p.paths[a.driver()] = filepath.Join(folder, name, "overload.test")
		command := []string{"test", "-c", "-tags", strings.Join(tags, ",")}
		if err := drivermod.Build(ctx, c.file("bench"), built, p.paths[a.driver()], "./overload", command...); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// run runs a job with an arm's driver.
func (p *programs) run(ctx context.Context, a arm, job overload.Job) (result overload.Result, err error) {
	job.Options, job.Spent, job.Throttler = a.options, a.spent, a.throttler
	input, err := json.Marshal(job)
	if err != nil {
		return result, err
	}
	output, err := os.CreateTemp(p.folder, "result-*.json")
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, output.Close(), os.Remove(output.Name())) }()
	cmd := exec.CommandContext(ctx, p.paths[a.driver()], "-test.run=^TestJob$")
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
	temp, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	console.progressf("compiling the load with each driver")
	var every []arm
	total := 0
	for _, e := range entries {
		every = append(every, e.arms...)
		for _, a := range e.arms {
			total += e.runs(a)
		}
	}
	programs, err := c.compile(ctx, temp, every)
	if err != nil {
		return nil, err
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
					results[i], err = programs.run(ctx, a, overload.Job{Scenario: e.Scenario, Seed: uint64(i) + 1})
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
