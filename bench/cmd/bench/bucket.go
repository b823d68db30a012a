package main

import (
	"context"
	"time"

	"mongofork/bench/internal/report"
	"mongofork/bench/internal/result"
	"mongofork/bench/internal/throttle"
)

type bucketCmd struct {
	common
	Rounds int `default:"15" help:"Number of rounds."`
}

// Validate is called by the parser.
func (c *bucketCmd) Validate() error {
	return atLeastOne("round", c.Rounds)
}

// Run measures the token bucket.
func (c *bucketCmd) Run(ctx context.Context, console console) error {
	setting := result.CurrentSetting("/", time.Now())
	rows, err := throttle.Measure(ctx, c.file("bench"), c.Rounds, func(done, of int) {
		console.progressf("round %d of %d", done, of)
	})
	if err != nil {
		return err
	}
	file := result.File[[]*throttle.Row]{Command: "make bench-bucket", Setting: setting, Results: rows}
	if err := file.Write(c.results(report.BucketFile)); err != nil {
		return err
	}
	return report.PrintBucket(console.Out, rows)
}
