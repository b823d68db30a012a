package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"golang.org/x/sync/errgroup"

	"mongofork/bench/overload"
)

// measured are results by scenario and arm.
type measured map[key]overload.Result

type key struct{ scenario, arm string }

// runJob runs a job with an arm's driver, in the program that "make bench" has compiled, whose output begins with the result.
func runJob(ctx context.Context, a arm, job overload.Job) (result overload.Result, err error) {
	encoded, err := json.Marshal(job)
	if err != nil {
		return nil, err
	}
	program := filepath.Join(root, "build", "with", filepath.FromSlash(a.Driver), "overload.test")
	cmd := exec.CommandContext(ctx, program, "-test.run=^TestJob$")
	// A bubble runs one goroutine after the other, and keeps little of what it allocates.
	cmd.Env = append(os.Environ(), "BENCH_JOB="+string(encoded), "GOMAXPROCS=1", "GOGC=2000")
	said, err := cmd.CombinedOutput()
	if err == nil {
		err = json.NewDecoder(bytes.NewReader(said)).Decode(&result)
	}
	if err != nil {
		return nil, fmt.Errorf("%s, %s, seed %d: %w\n%s", job.Scenario.Name, a.Name, job.Seed, err, said)
	}
	return result, nil
}

// measure runs the scenarios with all their arms on all processors, each as often as it has seeds.
func (p plan) measure(ctx context.Context, progress io.Writer) (measured, error) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.NumCPU())
	runs := map[key][]overload.Result{}
	for i, e := range p.Scenarios {
		for _, name := range e.Arms {
			a := p.Arms[name]
			results := make([]overload.Result, e.Seeds)
			if a.Half {
				results = results[:max(1, e.Seeds/2)]
			}
			runs[key{e.Name, name}] = results
			for seed := range results {
				group.Go(func() (err error) {
					results[seed], err = runJob(ctx, a, overload.Job{
						Scenario: e.Scenario, Options: a.Options, Spent: a.Spent, Seed: uint64(seed) + 1,
					})
					fmt.Fprintf(progress, "scenario %d of %d: %s, %s\n", i+1, len(p.Scenarios), e.Name, a.Name)
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
