// Package soak runs applications with different drivers on the same real members, at the same time, and disturbs the members. Each
// application records what its driver told it, and finally compares that with the members' data.
package soak

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"mongofork/lab/internal/clock"
	"mongofork/lab/internal/fronts"
	"mongofork/lab/internal/overload"
	"mongofork/tools/process"
)

const (
	count       = 3
	connectTime = 4 * time.Second // the applications' time to start and connect before the plan begins
	armPatience = 4 * time.Minute // bounds the applications' time to finish and compare after the plan
	// impatient makes a client notice within seconds that a member no longer answers.
	impatient = "&heartbeatFrequencyMS=500&connectTimeoutMS=3000&serverSelectionTimeoutMS=20000"
)

// Soak is a soak's command line.
type Soak struct {
	Mongod   string            `required:"" type:"existingfile" placeholder:"FILE" help:"The members' mongod."`
	Dir      string            `type:"existingdir" default:"." placeholder:"DIR" help:"Folder for their files, which are removed at the end."`
	Seed     uint64            `placeholder:"N" help:"Seed of the plan of faults. 0 takes a random one, and prints it."`
	Seeds    int               `default:"1" placeholder:"N" help:"Number of plans, from this seed on. They share the duration."`
	Only     string            `placeholder:"FAULT" help:"The fault to plan, such as overload; all by default."`
	Duration time.Duration     `default:"2m" help:"How long the applications work."`
	Fork     map[string]string `required:"" placeholder:"NAME=FILE" help:"A lab, built with a driver that has to pass without options, with adaptiveRetries, and with adaptiveThrottling."`
	Other    map[string]string `placeholder:"NAME=FILE" help:"A lab, built with a driver to compare with."`
}

// Run runs all applications through each plan, and writes the report. It writes a line for each incident to progress.
func (s *Soak) Run(ctx context.Context, report, progress io.Writer) error {
	if s.Duration <= 0 || s.Seeds < 1 {
		return errors.New("--duration and --seeds have to be more than 0")
	}
	chosen := slices.DeleteFunc(slices.Clone(faults), func(f fault) bool { return s.Only != "" && s.Only != f.name })
	if len(chosen) == 0 {
		return fmt.Errorf("--only=%s: there is no fault of that name", s.Only)
	}
	if s.Seed == 0 {
		s.Seed = rand.Uint64()
	}
	arms := s.arms()
	for i := range s.Seeds {
		p := plan{seed: s.Seed + uint64(i), faults: chosen, duration: s.Duration / time.Duration(s.Seeds)}
		err := s.run(ctx, p, arms, progress)
		if ctx.Err() != nil {
			return errors.New("interrupted before the applications had compared what they wrote, so there is no result")
		}
		if err != nil && i > 0 {
			fmt.Fprint(report, render(arms)) // the results so far
		}
		if err != nil {
			return fmt.Errorf("seed %d: %w", p.seed, err)
		}
	}
	fmt.Fprint(report, render(arms))
	if slices.ContainsFunc(arms, (*arm).failed) {
		return errors.New("there were violations; the report lists them, and the seed repeats the plan")
	}
	return nil
}

// arm is an application with a driver, and the sum of its reports.
type arm struct {
	name, binary string
	options      string // further options of the connection string; a driver that does not know them ignores them
	reference    bool   // its violations are no failure
	*Report
}

func (a *arm) failed() bool { return !a.reference && len(a.Violations) > 0 }

func (s *Soak) arms() (arms []*arm) {
	for _, name := range slices.Sorted(maps.Keys(s.Other)) {
		arms = append(arms, &arm{name, s.Other[name], "", true, newReport()})
	}
	for _, name := range slices.Sorted(maps.Keys(s.Fork)) {
		for _, option := range []string{"", "adaptiveRetries=true", "adaptiveThrottling=true"} {
			arms = append(arms, &arm{strings.TrimSuffix(name+", "+option, ", "), s.Fork[name], option, false, newReport()})
		}
	}
	return arms
}

// run runs all arms by a plan.
func (s *Soak) run(ctx context.Context, p plan, arms []*arm, progress io.Writer) (err error) {
	set, err := fronts.StartMembers(ctx, s.Mongod, s.Dir, count)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, set.Stop()) }()
	fmt.Fprintf(progress, "seed %d: %d members of version %s\n", p.seed, count, set.Version)

	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	served, serving := errgroup.WithContext(serving)
	defer func() {
		stop()
		err = errors.Join(err, served.Wait())
	}()
	var labs []lab
	p.start = time.Now().Add(connectTime)
	group, ctx := errgroup.WithContext(ctx)
	for i, arm := range arms {
		lab, err := fronts.Open(fronts.Config{Members: set})
		if err != nil {
			return err
		}
		served.Go(func() error { return lab.Run(serving) })
		labs = append(labs, lab)
		group.Go(func() error {
			return arm.run(ctx, p, "--uri="+lab.URIs()[0]+impatient+"&"+arm.options, "--direct="+set.URI,
				fmt.Sprintf("--database=soak%d", i))
		})
	}
	group.Go(func() error { return p.disturb(ctx, labs, progress) })
	return errors.Join(group.Wait(), set.Err())
}

// run runs an application to its end, with further flags.
func (a *arm) run(ctx context.Context, p plan, flags ...string) error {
	ctx, cancel := context.WithDeadline(ctx, p.start.Add(p.duration+armPatience))
	defer cancel()
	flags = append(flags, "--start="+p.start.Format(time.RFC3339Nano), "--duration="+p.duration.String())
	cmd := process.Command(ctx, "", nil, a.binary, append([]string{"soak-application"}, flags...)...)
	var output, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &log
	err := cmd.Run()
	process.Reap(cmd)
	if err != nil {
		return fmt.Errorf("%s: %w: %s", a.name, errors.Join(err, context.Cause(ctx)), strings.TrimSpace(log.String()))
	}
	var report Report
	if err := json.Unmarshal(output.Bytes(), &report); err != nil {
		return fmt.Errorf("%s: its report %.200q: %w", a.name, output.Bytes(), err)
	}
	a.sum(p.seed, &report)
	return nil
}

const (
	// recovery is how long members have to agree on a primary, or to come back, before something else happens.
	recovery    = 2 * time.Second
	endPatience = 3 * time.Minute // bounds the end of a fault, such as the restart of a member
)

// lab is what an application sees, a fronts.Lab. All of them have the same members behind them.
type lab interface {
	Disturb(ctx context.Context, what string, member int) error
	Limit(requests, connections overload.Limit)
	Primary(ctx context.Context) int
}

// fault is what can happen to a deployment.
type fault struct {
	name        string
	begin, end  string        // what Disturb does to the member or its front, beside a limit
	least, most time.Duration // they bound its time; without, it ends by itself
	primary     float64       // how likely it happens to the primary
	// requests and connections are how many of these a second it leaves to each front; up to twice as many.
	requests, connections float64
	ofMember              bool // whether it happens to a member, which needs time to come back, and not to its front
}

const ms = time.Millisecond

var faults = []fault{
	{name: "kill", begin: "kill", end: "restart", least: 1500 * ms, most: 5000 * ms, primary: 0.7, ofMember: true},
	// On a slow machine, too, the applications want more.
	{name: "overload", least: 1000 * ms, most: 3000 * ms, requests: 20},
	// It takes so long that the others elect another primary.
	{name: "pause", begin: "pause", end: "resume", least: 1500 * ms, most: 5000 * ms, primary: 0.7, ofMember: true},
	{name: "step-down", begin: "stepDown", primary: 1, ofMember: true},
	// It takes so long that clients find out, and look elsewhere.
	{name: "silent", begin: "silent", end: "off", least: 500 * ms, most: 6000 * ms, primary: 0.5},
	// It resets connections, too: the limit is about those that are needed again.
	{name: "connection limit", begin: "reset", least: 500 * ms, most: 1500 * ms, primary: 0.5, connections: 5},
}

// plan is what happens in a run. The seed decides the faults' order, times and members.
type plan struct {
	seed     uint64
	faults   []fault
	start    time.Time
	duration time.Duration
}

// disturb carries out the plan. When it returns, all members run, and there are no limits.
//
// Each fault happens once before any fault happens again, so that short runs see all of them. Nothing happens in the first tenth of the
// run, in which clients connect, and in the last tenth, in which operations end. Nothing happens either while a member comes back.
func (p plan) disturb(ctx context.Context, labs []lab, progress io.Writer) error {
	random := rand.New(rand.NewPCG(p.seed, count))
	between := func(low, high time.Duration) time.Duration {
		return (low + time.Duration(random.Float64()*float64(high-low))).Round(time.Millisecond)
	}
	at := p.duration / 10
	for {
		for _, i := range random.Perm(len(p.faults)) {
			f := p.faults[i]
			length, member := between(f.least, f.most), random.IntN(count)
			atPrimary, more := random.Float64() < f.primary, 1+random.Float64()
			if at+length > p.duration-p.duration/10 || clock.Wait(ctx, time.Until(p.start.Add(at))) != nil {
				return nil
			}
			if primary := labs[0].Primary(ctx); atPrimary && primary >= 0 {
				member = primary
			}
			f.requests, f.connections = f.requests*more, f.connections*more
			who := fmt.Sprintf("member %d", member)
			if limit := f.requests + f.connections; limit > 0 {
				who = fmt.Sprintf("all fronts at most %.0f a second", limit)
			}
			fmt.Fprintf(progress, "  %v: %s, %s, for %v\n", at, f.name, who, length)
			if err := f.happen(ctx, labs, member, length); err != nil {
				return fmt.Errorf("%s, %s: %w", f.name, who, err)
			}
			if at += length + between(500*time.Millisecond, 1500*time.Millisecond); f.ofMember {
				at += recovery
			}
		}
	}
}

// happen begins the fault and ends it after some time, or early if the context ends.
func (f fault) happen(ctx context.Context, labs []lab, member int, length time.Duration) error {
	if err := f.apply(ctx, labs, member); err != nil {
		if f.begin == "stepDown" {
			return nil // the member is no primary, or does not stay one
		}
		return err
	}
	_ = clock.Wait(ctx, length)
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endPatience)
	defer cancel()
	return fault{begin: f.end, ofMember: f.ofMember}.apply(ending, labs, member)
}

// apply begins the fault at a member, or at the front of it of every application, and sets the limits of all fronts.
func (f fault) apply(ctx context.Context, labs []lab, member int) error {
	limit := func(perSecond float64) overload.Limit {
		if perSecond == 0 {
			return overload.Unlimited()
		}
		return overload.Limit{Enabled: true, RatePerSec: int32(perSecond), BurstCapacitySecs: 0.1}
	}
	for i, lab := range labs {
		if f.begin != "" && (i == 0 || !f.ofMember) {
			if err := lab.Disturb(ctx, f.begin, member); err != nil {
				return err
			}
		}
		lab.Limit(limit(f.requests), limit(f.connections))
	}
	return nil
}
