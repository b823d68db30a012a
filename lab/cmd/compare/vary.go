package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"mongofork/lab/virtual/trial"
)

// vary reports how many plans do not have the same trace in all runs with one driver, and where they first differ.
func (p *pair) vary(ctx context.Context, seeds []uint64, times int, out io.Writer) error {
	for i, name := range []string{"upstream", "the fork"} {
		var varying []uint64
		for _, seed := range seeds {
			plan := trial.New(seed)
			runs := traces{p.drivers[i].run(order{Plan: plan, Lines: true})}
			for len(runs) < times && runs.exact() {
				runs = append(runs, p.drivers[i].run(order{Plan: plan, Lines: true}))
			}
			if runs.exact() {
				continue
			}
			varying = append(varying, seed)
			fmt.Fprintf(out, "seed %d, %s, a run:\n%s", seed, name, where(runs[0].Lines, runs[len(runs)-1].Lines))
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		fmt.Fprintf(out, "%s: %d of %d plans vary in %d runs: %d\n", name, len(varying), len(seeds), times, varying)
	}
	return nil
}

// where returns the lines of the first instant that only one of two traces has.
func where(a, b []string) string {
	for len(a)+len(b) > 0 {
		var i trial.Instant
		if i, a, b = instant(a, b, 0); len(i.Upstream)+len(i.Fork) > 0 {
			return fmt.Sprintf("\t%s\nanother:\n\t%s\n", strings.Join(i.Upstream, "\n\t"), strings.Join(i.Fork, "\n\t"))
		}
	}
	return ""
}
