package main

import (
	"context"

	"mongofork/bench/internal/report"
)

type reportCmd struct{ common }

// Run writes docs/performance.md.
func (c *reportCmd) Run(context.Context, console) error {
	return report.Write(c.file("docs"))
}
