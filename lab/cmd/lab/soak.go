package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"mongofork/lab/internal/soak"
)

// errViolations says that the report has something that must not happen.
var errViolations = errors.New("things happened that must not; the report says which, and the seed replays the plan")

type soakCmd struct {
	Backend  string        `required:"" env:"MONGODB_URI" placeholder:"URI" help:"Connection string of the server, with one host. Its database \"soak\" is dropped."`
	Seed     uint64        `placeholder:"N" help:"Of the plan of what goes wrong. 0 takes any, and prints it."`
	Duration time.Duration `default:"2m" help:"How long the application works."`
	Workers  int           `default:"4" help:"How many workers there are of each kind."`
	Adaptive bool          `default:"true" negatable:"" help:"Set adaptiveRetries."`
}

// Run runs the soak and prints what it found.
func (c *soakCmd) Run(env *environment) error {
	if c.Duration <= 0 || c.Workers <= 0 {
		return errors.New("--duration and --workers have to be more than 0")
	}
	if c.Seed == 0 {
		c.Seed = rand.Uint64()
	}
	fmt.Fprintf(env.stderr, "seed %d\n", c.Seed)
	report, err := soak.Run(env.ctx, soak.Config{
		Seed: c.Seed, Duration: c.Duration, Workers: c.Workers, Backend: c.Backend, Adaptive: c.Adaptive, Progress: env.stderr,
	})
	if report != nil {
		writeSoak(env.stdout, c.Seed, report)
	}
	switch {
	case err != nil:
		return err
	case report.Failed():
		return errViolations
	}
	return nil
}

// writeSoak writes a report as a table.
func writeSoak(out io.Writer, seed uint64, report *soak.Report) {
	t := table.NewWriter()
	t.SetTitle("soak, seed %d", seed)
	t.AppendHeader(table.Row{"", "kind", "count"})
	rows := func(title string, counts map[string]int64) {
		for _, kind := range slices.Sorted(maps.Keys(counts)) {
			t.AppendRow(table.Row{title, kind, counts[kind]})
		}
		t.AppendSeparator()
	}
	rows("operations", report.Operations)
	rows("errors that the application saw", report.Errors)
	violations := make(map[string]int64)
	for kind, v := range report.Violations {
		violations[kind] = v.Count
	}
	if len(violations) == 0 {
		violations["none"] = 0
	}
	rows("violations", violations)
	fmt.Fprintln(out, t.Render())
	for _, note := range report.Notes {
		fmt.Fprintln(out, note)
	}
	for _, kind := range slices.Sorted(maps.Keys(report.Violations)) {
		fmt.Fprintf(out, "the first of %s: %s\n", kind, report.Violations[kind].Example)
	}
}
