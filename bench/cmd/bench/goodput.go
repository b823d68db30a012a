package main

import (
	"context"
	"os"
	"time"

	"mongofork/bench/internal/goodput"
	"mongofork/bench/internal/report"
	"mongofork/bench/internal/result"
)

type goodputCmd struct{ overloadFlags }

// Run measures the drivers for Go under overload.
func (c *goodputCmd) Run(ctx context.Context, console console) error {
	setting := result.CurrentSetting("/", time.Now())
	temp, err := os.MkdirTemp("", "bench-goodput-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	config, err := c.build(ctx, console, temp, goodput.Scenarios())
	if err != nil {
		return err
	}
	config.Storm = goodput.NewStorm(c.Storm)
	results, err := measureCanned(ctx, c.chosen(config))
	if err != nil {
		return err
	}
	if c.everything() {
		file := result.File[*goodput.Results]{Command: "make bench-goodput", Setting: setting, Results: results}
		if err := file.Write(c.results(report.GoodputFile)); err != nil {
			return err
		}
		if err := report.DrawGoodput(results, c.file("docs", "performance"), report.MeasuredPlots); err != nil {
			return err
		}
	}
	return report.PrintGoodput(console.Out, results)
}
