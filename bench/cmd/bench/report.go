package main

import (
	"context"

	"mongofork/bench/internal/report"
)

type reportCmd struct{ common }

// Run rewrites the tables of the pages about performance, and their plots.
func (c *reportCmd) Run(context.Context, console) error {
	return report.Write(c.Root)
}
