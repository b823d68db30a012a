package main

import (
	"context"
	"os"
	"time"

	"mongofork/bench/internal/drivers"
	"mongofork/bench/internal/report"
	"mongofork/bench/internal/result"
	"mongofork/bench/internal/size"
)

type sizeCmd struct {
	common
	Base   string `default:"v2.5.0" env:"BASE" help:"Version of upstream that the fork is built on ($BASE)."`
	Rounds int    `default:"3" help:"Number of builds with empty caches."`
}

// Validate is called by the parser.
func (c *sizeCmd) Validate() error {
	return atLeastOne("round", c.Rounds)
}

// Run measures the application of the demo with both drivers.
func (c *sizeCmd) Run(ctx context.Context, console console) error {
	setting := result.CurrentSetting("/", time.Now())
	temp, err := os.MkdirTemp("", "bench-size-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	builder := drivers.Builder{Module: c.file("examples", "overload"), Temp: temp, Environ: os.Environ()}
	upstream, fork := c.bothDrivers(c.Base)
	programs, err := size.Measure(ctx, builder, []drivers.Driver{upstream, fork}, c.Rounds, func(done, of int) {
		console.progressf("round %d of %d", done, of)
	})
	if err != nil {
		return err
	}
	file := result.File[[]*size.Program]{Command: "make bench-size", Setting: setting, Results: programs}
	if err := file.Write(c.results(report.SizeFile)); err != nil {
		return err
	}
	return report.PrintSize(console.Out, programs)
}
