package main

import (
	"context"
	"time"

	"mongofork/bench/internal/report"
	"mongofork/bench/internal/result"
	"mongofork/bench/internal/study"
)

type simCmd struct {
	common
	Only string `enum:"all,policies,throttling" default:"all" help:"Which simulations to run: ${enum}."`
}

// Run runs the simulations.
func (c *simCmd) Run(ctx context.Context, console console) error {
	progress := func(part string, done, of int, took time.Duration) {
		console.progressf("simulation %d of %d: %s, %v", done, of, part, took.Round(time.Second/10))
	}
	if c.Only != "throttling" {
		if err := c.policies(ctx, progress); err != nil {
			return err
		}
	}
	if c.Only == "policies" {
		return nil
	}
	s, err := study.RunThrottling(ctx, study.Full, progress)
	if err != nil {
		return err
	}
	return (result.File[*study.Throttling]{Command: "make bench-sim", Results: s}).Write(c.results(report.ThrottlingFile))
}

func (c *simCmd) policies(ctx context.Context, progress func(string, int, int, time.Duration)) error {
	s, err := study.Run(ctx, study.Full, progress)
	if err != nil {
		return err
	}
	return (result.File[*study.Study]{Command: "make bench-sim", Results: s}).Write(c.results(report.SimulationFile))
}
