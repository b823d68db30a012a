package main

import (
	"context"
	"time"

	"mongofork/bench/internal/overhead"
	"mongofork/bench/internal/report"
	"mongofork/bench/internal/result"
	"mongofork/tools/rig/server"
)

// What is measured on a real server, which takes most of the time of an operation: a few measurements show that the canned
// server's figures are not an artefact.
const (
	serverRounds     = 15
	serverEach       = 100 * time.Millisecond
	serverLimit      = 100 * time.Second
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
func (c *overheadCmd) measureServer(ctx context.Context, console console, arms []overhead.Arm) error {
	return c.onServer(ctx, console, server.Config{}, func(uri, name string) error {
		file := result.File[*overhead.ServerResults]{Command: c.command(), Setting: result.CurrentSetting("/", time.Now())}
		results, err := overhead.MeasureServer(ctx, overhead.Config{
			Arms: arms, Cases: serverCases(), URI: uri, Rounds: serverRounds, Run: serverEach, Slices: c.Slices,
			Limit: serverLimit, Now: time.Now,
			Progress: func(done, of int) { console.progressf("round %d of %d on the server", done, of) },
		})
		if err != nil {
			return err
		}
		file.Results = &overhead.ServerResults{Server: name, Results: results}
		if err := file.Write(c.results(report.OverheadServerFile(c.Base))); err != nil {
			return err
		}
		return report.PrintOverhead(console.Out, results)
	})
}
