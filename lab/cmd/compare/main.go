// Compare runs random plans with the fork in virtual time, and judges it: where nothing goes wrong by the trace of untouched upstream,
// where retries get over errors by the same calls without the errors, and always by rules.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/alecthomas/kong"

	"mongofork/lab/virtual/trial"
	"mongofork/tools/command"
)

const description = `Runs random plans with the fork in virtual time, on a network and servers in memory, and judges what the application,
the driver's events and the servers saw. Where nothing goes wrong, upstream's driver has to show the same; where retries get
over errors, the same plan without the errors; and always the rules hold.

Exit codes: 0 no finding, 1 a finding, 2 wrong usage.`

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
	p := &pair{upstream: &driver{ctx: ctx, program: c.Upstream}, fork: &driver{ctx: ctx, program: self}}
	defer p.close()
	if t := p.upstream.run(order{Plan: trial.Plan{Topology: "standalone"}}); t.Crash != "" {
		return fmt.Errorf("%s does not run: %s", c.Upstream, t.Crash)
	}
	findings, judged := 0, 0
	for n := range c.Seeds {
		plan := trial.New(c.Seed + n)
		f := p.judge(plan)
		if ctx.Err() != nil {
			break
		}
		judged++
		if f.what == "" {
			continue
		}
		findings++
		fmt.Fprintf(out, "seed %d: %s\nplan %+v\n%s\n\n", plan.Seed, f.what, plan, f.detail)
		if c.First {
			break
		}
	}
	fmt.Fprintf(out, "%d plans from seed %d\n", judged, c.Seed)
	if findings > 0 {
		return fmt.Errorf("%d plans have a finding; repeat one with SEEDS=1 SEED=<seed>", findings)
	}
	return ctx.Err()
}
