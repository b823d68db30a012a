package main

import (
	"context"
	"time"

	"mongofork/bench/internal/report"
	"mongofork/bench/internal/result"
	"mongofork/bench/internal/study"
)

type simCmd struct{ common }

// Run runs all simulations and draws their plots.
func (c *simCmd) Run(ctx context.Context, console console) error {
	s, err := study.Run(ctx, study.Full, func(part string, done, of int, took time.Duration) {
		console.progressf("simulation %d of %d: %s, %v", done, of, part, took.Round(time.Second/10))
	})
	if err != nil {
		return err
	}
	if err := (result.File[*study.Study]{Command: "make bench-sim", Results: s}).Write(c.results(report.SimulationFile)); err != nil {
		return err
	}
	return report.DrawSimulations(s, c.file("docs", "performance"))
}
