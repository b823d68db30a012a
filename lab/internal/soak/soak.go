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

	"mongofork/lab/internal/fronts"
	"mongofork/tools/process"
)

const (
	count = 3
	// connectTime is the applications' time to start and connect before the plan begins.
	connectTime = 4 * time.Second
	// armPatience bounds the applications' time to finish and compare after the plan.
	armPatience = 4 * time.Minute
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
