// Package demo runs the same application with upstream's driver and with the fork on a replica set that sheds load, and compares
// what the application notices. The overload lab is in front of the members, or simulates them on one server.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// ErrNotBetter means that the fork did not do better than upstream.
var ErrNotBetter = errors.New("the fork did not do better than upstream")

// Config configures a demonstration. All fields are required.
type Config struct {
	// Root is the root of the repository.
	Root string
	// Base is the version of upstream that the fork is built on.
	Base string
	// Workers, Operations and Seed are passed to the application.
	Workers, Operations int
	Seed                int64
	// BuildFork writes the fork of the base to build/<base>.
	BuildFork func(context.Context) error
	// OpenLab starts a replica set behind the lab, and returns a function that ends both. It is called after the fork is built.
	OpenLab func(context.Context) (env []string, end func() error, err error)
	// Environ is the environment of the commands that are run.
	Environ []string
	// Output receives the table and the verdict, Progress everything else.
	Output, Progress io.Writer
}

// scenario is a way for a replica set to shed load.
type scenario struct {
	// name says which members do.
	name string
	// limited chooses them.
	limited func(hosts []string, primary string) []string
	// ratePerSec is the number of requests that each of them admits per second.
	ratePerSec int32
}

// The application's 8 workers pause for 20 ms after each operation, so they do at most 400 a second. Three quarters of those go
// to the primary: all writes, and a third of the reads.
var scenarios = []scenario{
	{"every member", func(hosts []string, _ string) []string { return hosts }, 60},
	{"one secondary", lastSecondary, 1},
}

func lastSecondary(hosts []string, primary string) []string {
	for _, host := range slices.Backward(hosts) {
		if host != primary {
			return []string{host}
		}
	}
	return nil
}

// Run runs the demonstration. It returns ErrNotBetter if it completed and the fork did not do better.
func Run(ctx context.Context, cfg Config) (err error) {
	temp, err := os.MkdirTemp("", "rig-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	shops, err := builder{Config: cfg, temp: temp}.build(ctx)
	if err != nil {
		return err
	}

	env, end, err := cfg.OpenLab(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	comparisons, err := compareAll(ctx, cfg, env, shops)
	if err != nil {
		return err
	}
	return conclude(cfg.Output, comparisons)
}

// compareAll runs all scenarios on the lab, whose address is in env.
func compareAll(ctx context.Context, cfg Config, env []string, shops binaries) ([]Comparison, error) {
	uri, err := uriOf(env)
	if err != nil {
		return nil, err
	}
	var comparisons []Comparison
	for _, scenario := range scenarios {
		comparison, err := compare(ctx, cfg, uri, shops, scenario)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", scenario.name, err)
		}
		comparisons = append(comparisons, comparison)
	}
	return comparisons, nil
}

// compare runs the application with one driver after the other.
func compare(ctx context.Context, cfg Config, uri string, shops binaries, s scenario) (Comparison, error) {
	c := Comparison{Scenario: s.name}
	for _, arm := range []struct {
		name, shop, driver string
		summary            *Summary
	}{
		{"upstream", shops.upstream, cfg.Base, &c.Upstream},
		{"the fork", shops.fork, cfg.Base + " (replaced)", &c.Fork},
	} {
		cfg.progressf("the shop with %s; overloaded for %v: %s, beyond %d requests a second", arm.name, overloadTime, s.name, s.ratePerSec)
		summary, err := runArm(ctx, cfg, uri, arm.shop, s)
		if err != nil {
			return c, fmt.Errorf("%s: %w", arm.name, err)
		}
		if summary.Driver != arm.driver {
			return c, fmt.Errorf("the shop for %s was built with driver %s instead of %s", arm.name, summary.Driver, arm.driver)
		}
		*arm.summary = *summary
	}
	return c, nil
}

// uriOf finds the replica set's connection string in the lab's output.
func uriOf(env []string) (string, error) {
	for _, assignment := range env {
		if uri, ok := strings.CutPrefix(assignment, "MONGODB_URI="); ok {
			return uri, nil
		}
	}
	return "", fmt.Errorf("the lab printed %q, but no MONGODB_URI", env)
}

// conclude prints the table and the verdict.
func conclude(out io.Writer, comparisons []Comparison) error {
	better, sentence := Verdict(comparisons)
	if _, err := fmt.Fprintf(out, "%s\n\n%s\n", Table(comparisons), sentence); err != nil {
		return err
	}
	if !better {
		return ErrNotBetter
	}
	return nil
}

func (c Config) progressf(format string, args ...any) {
	fmt.Fprintf(c.Progress, format+"\n", args...)
}

// forkDir is where the builder puts the fork.
func (c Config) forkDir() string { return filepath.Join(c.Root, "build", c.Base) }

// armTimeout bounds one run of the application, which takes about ten seconds.
const armTimeout = time.Minute
