// Compare runs the same random plans with untouched upstream and with the fork, in virtual time, and reports where the fork differs
// without a reason, or is worse.
package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/alecthomas/kong"

	"mongofork/lab/virtual/trial"
	"mongofork/tools/command"
)

const description = `Runs random plans with two drivers in virtual time, each on a network and servers in memory, and compares what the
application, the driver's events and the servers saw.

Exit codes: 0 no difference without a reason, 1 a difference, 2 wrong usage.`

type cli struct {
	Upstream string `required:"" type:"existingfile" help:"This program, built with untouched upstream instead of the fork."`
	Seed     uint64 `default:"1" help:"The first seed."`
	Seeds    uint64 `default:"2000" help:"The number of seeds."`
	First    bool   `help:"End with the first finding."`
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == childArgument {
		child()
		return
	}
	command.Main(run)
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var c cli
	return command.Program{Name: "compare", Description: description, CLI: &c, Do: func(*kong.Context) error {
		return c.compare(ctx, stdout)
	}}.Run(args, stdout, stderr)
}

// compare compares the drivers by all plans.
func (c *cli) compare(ctx context.Context, out io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	p := &pair{[2]*driver{{ctx: ctx, program: c.Upstream}, {ctx: ctx, program: self}}}
	defer p.close()
	if t := p.drivers[0].run(order{Plan: trial.Plan{Topology: "standalone"}}); t.Crash != "" || !t.Untouched {
		return fmt.Errorf("%s does not run untouched upstream: %s", c.Upstream, t.Crash)
	}
	reasons, findings, judged := map[string][]uint64{}, 0, 0
	for n := range c.Seeds {
		plan := trial.New(c.Seed + n)
		v := p.judge(plan)
		if ctx.Err() != nil {
			break
		}
		judged++
		for _, reason := range v.reasons {
			reasons[reason] = append(reasons[reason], plan.Seed)
		}
		if v.finding == "" {
			continue
		}
		findings++
		fmt.Fprintf(out, "seed %d: %s\nplan %+v\n%s\n\n", plan.Seed, v.finding, plan, v.detail)
		if c.First {
			break
		}
	}
	fmt.Fprintf(out, "%d plans from seed %d\n", judged, c.Seed)
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		fmt.Fprintf(out, "%6d differ, the first is of seed %d: %s\n", len(reasons[reason]), reasons[reason][0], reason)
	}
	if findings > 0 {
		return fmt.Errorf("%d plans show a difference without a reason; repeat one with SEEDS=1 SEED=<seed>", findings)
	}
	return ctx.Err()
}
