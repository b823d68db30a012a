package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mongofork/bench/internal/overhead"
	"mongofork/bench/internal/report"
	"mongofork/bench/internal/result"
	"mongofork/internal/rig/server"
)

// What is measured on a real server, which takes most of the time of an operation: little is enough to show that the figures of
// the canned server are no artefact of it.
const (
	serverRounds     = 10
	serverEach       = 100 * time.Millisecond
	serverLimit      = 60 * time.Second
	serverGoroutines = 2
)

func serverCases() []overhead.Case {
	var cases []overhead.Case
	for _, name := range []string{"FindOne", "InsertOne", "Cursor10Batches"} {
		cases = append(cases, overhead.Case{Workload: name, Goroutines: serverGoroutines})
	}
	return cases
}

// measureServer measures on a real server, if there is any.
func (c *overheadCmd) measureServer(ctx context.Context, console console, arms []overhead.Arm) (err error) {
	found, err := server.Open(ctx, server.Config{Root: c.Root, Progress: console.Progress})
	if errors.Is(err, server.ErrUnavailable) {
		console.progressf("nothing is measured on a real server: %v", err)
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, found.Close()) }()
	file := result.File[*overhead.ServerResults]{Command: c.command(), Setting: result.CurrentSetting("/", time.Now())}
	results, err := overhead.MeasureServer(ctx, overhead.Config{
		Arms: arms, Cases: serverCases(), URI: found.URI, Rounds: serverRounds, Run: serverEach, Slices: c.Slices,
		Limit: serverLimit, Now: time.Now,
		Progress: func(done, of int) { console.progressf("round %d of %d on the server", done, of) },
	})
	if err != nil {
		return err
	}
	file.Results = &overhead.ServerResults{Server: fmt.Sprintf("%s from %s", found.Version, found.Origin), Results: results}
	if err := file.Write(c.results(report.OverheadServerFile(c.Base))); err != nil {
		return err
	}
	return report.PrintOverhead(console.Out, results)
}
