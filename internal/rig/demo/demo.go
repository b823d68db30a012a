// Package demo runs the same application with upstream's driver and with the
// fork on a server that sheds load, and compares what the application notices.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"mongofork/internal/rig/server"
)

// ErrNotBetter says that the fork did not do better than upstream.
var ErrNotBetter = errors.New("the fork did not do better than upstream")

// Config is what a demonstration needs. All its fields are required.
type Config struct {
	// Root is the root of the repository.
	Root string
	// Base is the version of upstream that the fork is built on.
	Base string
	// Workers, Operations and Seed are passed to the application.
	Workers, Operations int
	Seed                int64
	// OpenServer finds or starts the server.
	OpenServer func(context.Context) (*server.Server, error)
	// Environ is the environment of the commands that are run.
	Environ []string
	// Output gets the table and the verdict, Progress everything else.
	Output, Progress io.Writer
}

// scenario is a way in which the server sheds load.
type scenario struct {
	name   string
	labels []string
}

var scenarios = []scenario{
	{"overloaded", []string{"SystemOverloadedError", "RetryableError"}},
	// What servers since 8.2.6 say.
	{"overloaded, NoWritesPerformed", []string{"SystemOverloadedError", "RetryableError", "NoWritesPerformed"}},
}

// Run runs the demonstration. It returns ErrNotBetter when it came to its end and
// did not show what it is to show.
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

	s, err := cfg.OpenServer(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()

	var comparisons []Comparison
	for _, scenario := range scenarios {
		comparison, err := compare(ctx, cfg, s.URI, shops, scenario)
		if err != nil {
			return fmt.Errorf("%s: %w", scenario.name, err)
		}
		comparisons = append(comparisons, comparison)
	}
	return conclude(cfg.Output, comparisons)
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
		cfg.progressf("the shop with %s; the server's answer to some commands: %s", arm.name, s.name)
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

// armTimeout bounds one run of the application, which takes some five seconds.
const armTimeout = time.Minute
