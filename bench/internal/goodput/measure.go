package goodput

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"mongofork/bench/internal/openloop"
	"mongofork/bench/internal/result"
	"mongofork/tools/connstring"
)

// Config is the configuration of a measurement.
type Config struct {
	Arms    []Arm
	Lab     string // the lab's program
	Backend string // connection string of the server behind the lab
	Mongod  string // the program that the lab starts real members of; empty if there is none
	// Database has the document that operations read.
	Database  string
	Scenarios []Scenario
	// Storm is left out if it has no clients.
	Storm Storm
	// Root is the root of the file system, for the load of the processors.
	Root string
	// Progress, unless nil, is called before each step.
	Progress func(done, of int, what string)
}

// Measure runs all scenarios, one after the other.
func Measure(ctx context.Context, c Config) (*Results, error) {
	results := &Results{Capacity: Capacity, Queue: Queue, Connections: Connections, Patience: operationPatience, Storm: c.Storm}
	steps := len(c.Scenarios)
	if c.Storm.Clients > 0 {
		steps++
	}
	for i, s := range c.Scenarios {
		c.progress(i, steps, s.String())
		runs, err := c.sideBySide(ctx, s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s, err)
		}
		results.Runs = append(results.Runs, runs...)
	}
	if c.Storm.Clients == 0 {
		return results, nil
	}
	c.progress(len(c.Scenarios), steps, fmt.Sprintf("%d clients start at once", c.Storm.Clients))
	for _, arm := range c.arms(c.Storm.Arms) {
		before := result.ReadProcessors(c.Root)
		report, err := c.storm(ctx, arm)
		if err != nil {
			return nil, fmt.Errorf("storm with %s: %w", arm.Name, err)
		}
		idle := result.ReadProcessors(c.Root).IdleSince(before)
		results.Storms = append(results.Storms, StormRun{Arm: arm.Name, Report: report, Idle: idle})
	}
	return results, nil
}

func (c Config) progress(done, of int, what string) {
	if c.Progress != nil {
		c.Progress(done, of, what)
	}
}

// arms returns the existing arms of those names.
func (c Config) arms(names []string) []Arm {
	var some []Arm
	for _, name := range names {
		for _, arm := range c.Arms {
			if arm.Name == name {
				some = append(some, arm)
			}
		}
	}
	return some
}

// sideBySide runs a scenario with all its arms at the same time, each with its own servers unless they share them.
func (c Config) sideBySide(ctx context.Context, s Scenario) ([]Run, error) {
	arms := c.arms(s.Arms)
	runs := make([]Run, len(arms))
	var used atomic.Int64
	began, before := time.Now(), result.ReadProcessors(c.Root)
	start := func(shared *server) error {
		group, ctx := errgroup.WithContext(ctx)
		for i, arm := range arms {
			runs[i] = Run{Scenario: s.of(i), Arm: arm.Name}
			group.Go(func() (err error) {
				runs[i].Report, err = c.run(ctx, runs[i].Scenario, arm, shared, &used)
				return err
			})
		}
		return group.Wait()
	}
	var err error
	if s.Shared {
		err = c.withServer(ctx, s, &used, start)
	} else {
		err = start(nil)
	}
	idle := result.ReadProcessors(c.Root).IdleSince(before)
	available := time.Since(began) * time.Duration(runtime.NumCPU())
	for i := range runs {
		runs[i].Used, runs[i].Idle = float64(used.Load())/float64(available), idle
	}
	return runs, err
}

// withServer calls a function with the servers of a scenario, and adds their processor time.
func (c Config) withServer(ctx context.Context, s Scenario, used *atomic.Int64, use func(*server) error) error {
	server, err := startServer(ctx, c, s)
	if err != nil {
		return err
	}
	defer func() { used.Add(int64(server.close())) }()
	if s.Real {
		if err := server.fill(ctx, c.Database); err != nil {
			return err
		}
	}
	if s.Limit > 0 {
		if err := server.limitRequests(ctx, s.Limit); err != nil {
			return err
		}
	}
	return use(server)
}

// run runs a scenario with one arm, on servers of its own unless there are shared ones.
func (c Config) run(ctx context.Context, s Scenario, arm Arm, shared *server, used *atomic.Int64) (report *openloop.Report, err error) {
	use := func(server *server) error {
		report, err = c.load(ctx, s, arm, server.URI, used)
		return err
	}
	if shared != nil {
		err = use(shared)
	} else {
		err = c.withServer(ctx, s, used, use)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", arm.Name, err)
	}
	return report, nil
}

// load puts the load of a scenario on servers with one arm, and adds the processor time that it took.
func (c Config) load(ctx context.Context, s Scenario, arm Arm, uri string, used *atomic.Int64) (*openloop.Report, error) {
	plan := s.Plan
	plan.Database, plan.Drain = c.Database, arm.Drain
	if arm.Clients > 0 {
		plan.Clients = arm.Clients
	}
	uriOptions := []string{arm.Options, fmt.Sprintf("maxPoolSize=%d", Connections/plan.Clients)}
	if s.Members > 0 {
		uriOptions = append(uriOptions, "readPreference=nearest")
	}
	plan.URI = connstring.With(uri, uriOptions...)
	report, took, err := arm.load(ctx, plan)
	used.Add(int64(took))
	return report, err
}

func (c Config) storm(ctx context.Context, arm Arm) (*openloop.StormReport, error) {
	server, err := startServer(ctx, c, Scenario{Plan: openloop.Plan{Capacity: Capacity}})
	if err != nil {
		return nil, err
	}
	defer server.close()
	if err := server.limitConnections(ctx, c.Storm.PerSecond, c.Storm.Queue); err != nil {
		return nil, err
	}
	plan := openloop.StormPlan{
		URI: connstring.With(server.URI, arm.Options), Clients: c.Storm.Clients, Pause: time.Second / 10, Limit: c.Storm.Limit,
	}
	return arm.storm(ctx, plan)
}
