// Fuzz runs the driver by random plans in virtual time, or with many goroutines in real time, on a network and servers in memory, and
// judges what the application, the driver's events and the servers saw.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alecthomas/kong"

	"mongofork/lab/virtual/parallel"
	"mongofork/lab/virtual/trial"
	"mongofork/tools/command"
)

const description = `Runs the driver by random plans in virtual time, or with many goroutines in real time, on a network and servers in
memory, and judges what the application, the driver's events and the servers saw.

Exit codes: 0 no finding, 1 a finding, 2 wrong usage or a panic of the driver, 66 a finding of the race detector.`

type cli struct {
	Seed    uint64 `default:"1" help:"The first seed."`
	Seeds   uint64 `default:"1000" help:"The number of seeds."`
	First   bool   `help:"End with the first finding."`
	Compare struct {
		Upstream string `required:"" type:"existingfile" help:"This program, built with untouched upstream instead of the fork."`
	} `cmd:"" help:"Compare the fork with upstream's driver where nothing goes wrong, and with itself where retries get over errors, and hold it to rules."`
	Parallel struct {
		Duration time.Duration `default:"60s" help:"For how long."`
	} `cmd:"" help:"Run 32 goroutines. Build the program with -race to have the race detector judge, too."`
	Hostile struct{} `cmd:"" help:"Let servers answer anything. The driver must not panic, outlive a deadline, report a success that no server reported, leak, or take memory, work or log lines without end."`
}

// serving is the only argument of the program as a child process.
const serving = "trials"

func main() {
	if len(os.Args) == 2 && os.Args[1] == serving {
		serve()
		return
	}
	command.Main(run)
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var c cli
	return command.Program{Name: "fuzz", Description: description, CLI: &c, Do: func(parsed *kong.Context) error {
		if parsed.Command() == "parallel" {
			n := parallel.Run(ctx, parallel.Options{Seed: c.Seed, Duration: c.Parallel.Duration, First: c.First}, stdout)
			if n > 0 {
				return fmt.Errorf("there are %d findings; repeat it with SEED=%d", n, c.Seed)
			}
			return ctx.Err()
		}
		fork := &driver{ctx: ctx, program: os.Args[0]}
		defer fork.close()
		if parsed.Command() == "hostile" {
			return c.judge(ctx, stdout, trial.NewHostile, func(plan trial.Plan) string { return flaws(fork.run(plan)) })
		}
		upstream := &driver{ctx: ctx, program: c.Compare.Upstream}
		defer upstream.close()
		if t := upstream.run(trial.Plan{Topology: "standalone"}); t.Crash != "" {
			return fmt.Errorf("%s does not run: %s", c.Compare.Upstream, t.Crash)
		}
		return c.judge(ctx, stdout, trial.New, func(plan trial.Plan) string { return compare(upstream, fork, plan) })
	}}.Run(args, stdout, stderr)
}

// judge prints the plans of the seeds under which something is wrong.
func (c *cli) judge(ctx context.Context, out io.Writer, planOf func(uint64) trial.Plan, wrongOf func(trial.Plan) string) error {
	findings, judged := 0, uint64(0)
	for ; judged < c.Seeds && !(c.First && findings > 0); judged++ {
		plan := planOf(c.Seed + judged)
		wrong := wrongOf(plan)
		if ctx.Err() != nil {
			break
		}
		if wrong != "" {
			findings++
			fmt.Fprintf(out, "seed %d: %s\nplan %+v\n\n", plan.Seed, wrong, plan)
		}
	}
	fmt.Fprintf(out, "%d plans from seed %d\n", judged, c.Seed)
	if findings > 0 {
		return fmt.Errorf("%d plans have a finding; repeat one with SEEDS=1 SEED=<seed>", findings)
	}
	return ctx.Err()
}

// patience is for one trial, which takes some milliseconds.
const patience = 60 * time.Second

// serve runs the plans that it reads, each in a bubble, and writes a trace for each. Bubbles need a test, so it is one.
func serve() {
	os.Args = os.Args[:1]
	test := testing.InternalTest{Name: "plans", F: func(t *testing.T) {
		in, out := json.NewDecoder(bufio.NewReader(os.Stdin)), json.NewEncoder(os.Stdout)
		for {
			var plan trial.Plan
			if in.Decode(&plan) != nil {
				return
			}
			synctest.Test(t, func(t *testing.T) {
				if out.Encode(trial.Run(t, plan)) != nil {
					os.Exit(1)
				}
			})
		}
	}}
	testing.Main(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{test}, nil, nil)
}

// driver is a process that runs plans, started when it is needed. A panic in a background goroutine ends it, and a trial may have no end;
// the next plan has a new one.
type driver struct {
	ctx     context.Context
	program string

	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *json.Decoder
	stderr strings.Builder
}

// run returns the trace of a plan, with what the process said if it died.
func (d *driver) run(plan trial.Plan) (t trial.Trace) {
	if d.cmd == nil {
		if err := d.start(); err != nil {
			d.cmd = nil
			return trial.Trace{Crash: err.Error()}
		}
	}
	waiting := time.AfterFunc(patience, func() { _ = d.cmd.Process.Kill() })
	err := json.NewEncoder(d.in).Encode(plan)
	if err == nil {
		err = d.out.Decode(&t)
	}
	if waiting.Stop() && err == nil {
		return t
	}
	d.close()
	said := d.stderr.String()
	if said == "" {
		said = fmt.Sprintf("it was killed after %v, in a loop in which no time passes", patience)
	}
	return trial.Trace{Crash: "the process ends: " + said[:min(len(said), 4000)]}
}

func (d *driver) start() error {
	d.stderr.Reset()
	d.cmd = exec.CommandContext(d.ctx, d.program, serving)
	d.cmd.Env, d.cmd.Stderr = append(os.Environ(), "GOMAXPROCS=1", "GOGC=400", "GODEBUG=asyncpreemptoff=1"), &d.stderr
	in, noIn := d.cmd.StdinPipe()
	out, noOut := d.cmd.StdoutPipe()
	d.in, d.out = in, json.NewDecoder(out)
	return errors.Join(noIn, noOut, d.cmd.Start())
}

func (d *driver) close() {
	if d.cmd != nil {
		d.in.Close()
		_ = d.cmd.Process.Kill()
		_ = d.cmd.Wait()
		d.cmd = nil
	}
}

// runs is how often drivers run a plan in which nothing goes wrong, if one run shows a difference: the order in which goroutines run within
// an instant is by chance.
const runs = 15

// compare returns what is wrong with the fork under the plan, if anything is.
func compare(upstream, fork *driver, plan trial.Plan) (wrong string) {
	trace := fork.run(plan)
	switch wrong = flaws(trace); {
	case wrong != "":
	case plan.Peaceful():
		ups, forks := []trial.Trace{upstream.run(plan)}, []trial.Trace{trace}
		if wrong = equal(ups, forks); wrong != "" {
			for range runs - 1 {
				ups, forks = append(ups, upstream.run(plan)), append(forks, fork.run(plan))
			}
			wrong = equal(ups, forks)
		}
	case plan.Passes():
		wrong = same(plan, fork.run(plan.Without()), trace)
	}
	return wrong
}

func flaws(t trial.Trace) string {
	if t.Crash != "" {
		return t.Crash
	}
	return strings.Join(t.Flaws, "\n")
}

// equal compares the traces of a plan in which nothing goes wrong: each of the fork's has to be one of upstream's, but for a third of them.
func equal(up, fork []trial.Trace) string {
	alone := slices.DeleteFunc(slices.Clone(fork), func(f trial.Trace) bool {
		return slices.ContainsFunc(up, func(u trial.Trace) bool { return slices.Equal(u.Lines, f.Lines) || u.Crash != "" })
	})
	if len(alone) <= len(fork)/3 {
		return ""
	}
	return "nothing goes wrong, and the fork does not do what upstream does\n" +
		firstDifference("upstream", up[0].Lines, "the fork", alone[0].Lines)
}

// same compares calls that get over errors with those of a trial without the errors: of the lines of calls all, if nothing but rejections
// goes wrong, and otherwise only how the calls ended.
func same(plan trial.Plan, without, with trial.Trace) string {
	apart := func(line string) bool { return !plan.OnlyRejects() && !strings.Contains(line, ": returns ") }
	calls, others := slices.DeleteFunc(slices.Clone(without.Calls), apart), slices.DeleteFunc(slices.Clone(with.Calls), apart)
	if slices.Equal(calls, others) && !(plan.OnlyRejects() && plan.Steady() && with.Opened > without.Opened) {
		return ""
	}
	return fmt.Sprintf("a call is not the same as without the errors that retries get over: %d and %d connections\n%s", without.Opened,
		with.Opened, firstDifference("without", calls, "with the errors", others))
}

// firstDifference shows two lists of lines from where they differ.
func firstDifference(a string, as []string, b string, bs []string) string {
	n := 0
	for n < len(as) && n < len(bs) && as[n] == bs[n] {
		n++
	}
	show := func(lines []string) string {
		return strings.Join(lines[min(n, len(lines)):min(n+6, len(lines))], "\n\t")
	}
	return fmt.Sprintf("%s:\n\t%s\n%s:\n\t%s", a, show(as), b, show(bs))
}
