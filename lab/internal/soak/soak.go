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
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"
	"golang.org/x/sync/errgroup"

	"mongofork/lab/internal/fronts"
	"mongofork/lab/internal/servererror"
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
	Only     string            `placeholder:"FAULT" help:"The fault to plan, such as overload; all by default."`
	Duration time.Duration     `default:"2m" help:"How long the applications work."`
	Fork     map[string]string `required:"" placeholder:"NAME=FILE" help:"A lab, built with a driver that has to pass without options, with adaptiveRetries, and with adaptiveThrottling."`
	Other    map[string]string `placeholder:"NAME=FILE" help:"A lab, built with a driver to compare with."`
}

// Run runs all applications through the plan, and writes the report. It writes a line for each incident to progress.
func (s *Soak) Run(ctx context.Context, report, progress io.Writer) error {
	chosen := slices.DeleteFunc(slices.Clone(faults), func(f fault) bool { return s.Only != "" && s.Only != f.name })
	if len(chosen) == 0 {
		return fmt.Errorf("--only=%s: there is no fault of that name", s.Only)
	}
	if s.Seed == 0 {
		s.Seed = rand.Uint64()
	}
	arms := s.arms()
	err := s.run(ctx, plan{seed: s.Seed, faults: chosen, duration: s.Duration}, arms, progress)
	if ctx.Err() != nil {
		return errors.New("interrupted before the applications had compared what they wrote, so there is no result")
	} else if err != nil {
		return fmt.Errorf("seed %d: %w", s.Seed, err)
	}
	fmt.Fprint(report, render(arms))
	if slices.ContainsFunc(arms, (*arm).failed) {
		return errors.New("there were violations; the report lists them, and the seed repeats the plan")
	}
	return nil
}

// arm is an application with a driver, and its report.
type arm struct {
	name, binary string
	// options are further options of the connection string; a driver that does not know them ignores them.
	options string
	// reference marks a reference, whose violations are no failure.
	reference bool
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
	if err := json.Unmarshal(output.Bytes(), a.Report); err != nil {
		return fmt.Errorf("%s: its report %.200q: %w", a.name, output.Bytes(), err)
	}
	return nil
}

// Report is the result of a run. It is safe for concurrent use.
type Report struct {
	mu                 sync.Mutex
	Operations, Errors int64               // all, and the errors among them that are documented
	Violations         map[string][]string // the broken promises, by kind
}

func newReport() *Report { return &Report{Violations: make(map[string][]string)} }

func (r *Report) violation(kind, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Violations[kind] = append(r.Violations[kind], fmt.Sprintf("%.1000s", fmt.Sprintf(format, args...)))
}

// operation counts an operation and the error that the application saw.
func (r *Report) operation(kind string, err error) {
	documented := documented(err)
	if err != nil && !documented {
		r.violation("errors that are not documented", "%s: %T %v", kind, err, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Operations++
	if documented {
		r.Errors++
	}
}

// labels are the error labels that tell an application what it may do.
var labels = []string{
	"SystemOverloadedError", "TransientTransactionError", "UnknownTransactionCommitResult", "ResumableChangeStreamError",
	"RetryableWriteError", "RetryableError",
}

// codes are the error codes of a member that changes its role; and what a server documents for what is lost with a member or not there
// yet: cursors that were open there, and the time to read at, which a member that has just started does not know.
var codes = append([]int32{43 /* CursorNotFound */, 237 /* CursorKilled */, 246 /* SnapshotUnavailable */}, servererror.StateChanges...)

// documented reports whether the driver's documentation names an error for a deployment in trouble.
func documented(err error) bool {
	var (
		labelled  mongo.LabeledError
		command   mongo.ServerError
		selection topology.ServerSelectionError
		waiting   topology.WaitQueueTimeoutError
		pool      driver.RetryablePoolError
	)
	return errors.As(err, &labelled) && slices.ContainsFunc(labels, labelled.HasErrorLabel) ||
		errors.As(err, &command) && slices.ContainsFunc(codes, func(code int32) bool { return command.HasErrorCode(int(code)) }) ||
		errors.As(err, &selection) || errors.As(err, &waiting) || errors.As(err, &pool) ||
		mongo.IsNetworkError(err) || mongo.IsTimeout(err)
}

// render returns the table, side by side, and the first example of each violation, as Markdown.
func render(arms []*arm) string {
	var table, below strings.Builder
	row := func(title string, of func(*arm) any) {
		fmt.Fprintf(&table, "| %s |", title)
		for _, arm := range arms {
			fmt.Fprintf(&table, " %v |", of(arm))
		}
		table.WriteString("\n")
	}
	row("", func(a *arm) any { return a.name })
	row("---", func(*arm) any { return "---:" })
	row("operations", func(a *arm) any { return a.Operations })
	row("documented errors", func(a *arm) any { return a.Errors })
	kinds := make(map[string]bool)
	for _, arm := range arms {
		for _, kind := range slices.Sorted(maps.Keys(arm.Violations)) {
			kinds[kind] = true
			fmt.Fprintf(&below, "%s, the first of %s: %s\n", arm.name, kind, arm.Violations[kind][0])
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		row(kind, func(a *arm) any { return len(a.Violations[kind]) })
	}
	if len(kinds) == 0 {
		row("violations", func(*arm) any { return 0 })
	}
	return table.String() + "\n" + below.String()
}
