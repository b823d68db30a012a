// Fuzz runs random plans with the driver in virtual time, and judges what the application, the driver's events and the servers saw.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"mongofork/lab/virtual/hostile"
	"mongofork/lab/virtual/trial"
	"mongofork/tools/command"
)

const description = `Runs random plans with the driver in virtual time, on a network and servers in memory, and judges what the application,
the driver's events and the servers saw.

Exit codes: 0 no finding, 1 a finding, 2 wrong usage.`

type cli struct {
	Seed    uint64     `default:"1" help:"The first seed."`
	Seeds   uint64     `default:"1000" help:"The number of seeds."`
	First   bool       `help:"End with the first finding."`
	Compare compareCmd `cmd:"" help:"Compare the fork with upstream's driver where nothing goes wrong, and with itself where retries get over errors, and hold it to rules."`
	Hostile hostileCmd `cmd:"" help:"Let servers answer anything. The driver must not panic, outlive a deadline, report a success that no server reported, leak, or take memory, work or log lines without end."`
}

// children are what the program does as a child process, by its only argument.
var children = map[string]func(){
	"trials": func() {
		serve(func(t *testing.T, o order) trial.Trace { return trial.Run(t, o.Plan, o.Salt) })
	},
	"attacks": func() { serve(func(t *testing.T, seed uint64) []string { return hostile.Run(t, hostile.New(seed)) }) },
}

func main() {
	if len(os.Args) == 2 && children[os.Args[1]] != nil {
		children[os.Args[1]]()
		return
	}
	command.Main(run)
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var c cli
	return command.Program{
		Name: "fuzz", Description: description, CLI: &c,
		Options: []kong.Option{kong.BindTo(ctx, (*context.Context)(nil)), kong.BindTo(stdout, (*io.Writer)(nil)), kong.Bind(&c)},
		Do:      func(parsed *kong.Context) error { return parsed.Run() },
	}.Run(args, stdout, stderr)
}

// finding is what a plan shows, if that is wrong.
type finding struct{ what, detail string }

// judge runs the plan of each seed, and prints those that have a finding.
func (c *cli) judge(ctx context.Context, out io.Writer, of func(seed uint64) (plan any, f finding)) error {
	findings, judged := 0, uint64(0)
	for ; judged < c.Seeds && !(c.First && findings > 0); judged++ {
		seed := c.Seed + judged
		plan, f := of(seed)
		if ctx.Err() != nil {
			break
		}
		if f.what != "" {
			findings++
			fmt.Fprintf(out, "seed %d: %s\nplan %+v\n%s\n\n", seed, f.what, plan, f.detail)
		}
	}
	fmt.Fprintf(out, "%d plans from seed %d\n", judged, c.Seed)
	if findings > 0 {
		return fmt.Errorf("%d plans have a finding; repeat one with SEEDS=1 SEED=<seed>", findings)
	}
	return ctx.Err()
}

type compareCmd struct {
	Upstream string `required:"" type:"existingfile" help:"This program, built with untouched upstream instead of the fork."`
}

// Run compares the drivers by all plans.
func (c *compareCmd) Run(ctx context.Context, all *cli, out io.Writer) error {
	p := new(pair)
	p.upstream.ctx, p.upstream.program, p.upstream.what = ctx, c.Upstream, "trials"
	p.fork.ctx, p.fork.program, p.fork.what = ctx, os.Args[0], "trials"
	defer p.upstream.close()
	defer p.fork.close()
	if _, died := p.upstream.run(order{Plan: trial.Plan{Topology: "standalone"}}); died != "" {
		return fmt.Errorf("%s does not run: %s", c.Upstream, died)
	}
	return all.judge(ctx, out, func(seed uint64) (any, finding) {
		plan := trial.New(seed)
		return plan, p.judge(plan)
	})
}

type hostileCmd struct{}

// Run lets the driver meet hostile servers.
func (hostileCmd) Run(ctx context.Context, all *cli, out io.Writer) error {
	driver := &child[uint64, []string]{ctx: ctx, program: os.Args[0], what: "attacks"}
	defer driver.close()
	return all.judge(ctx, out, func(seed uint64) (any, finding) {
		broken, died := driver.run(seed)
		if died != "" {
			broken = []string{"the process ends: " + died}
		}
		return hostile.New(seed), finding{what: strings.Join(broken, "\n")}
	})
}
