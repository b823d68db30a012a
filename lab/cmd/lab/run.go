package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"mongofork/lab/internal/clock"
	"mongofork/lab/internal/deployment"
	"mongofork/lab/internal/scenario"
	"mongofork/lab/internal/topology"
)

type runCmd struct {
	Scenario string `arg:"" type:"existingfile" help:"Scenario (YAML); lab/scenarios has examples."`
	labFlags
}

// Help is the text of --help before the flags.
func (c *runCmd) Help() string {
	return `A scenario has these fields; unknown ones are errors:

    topology: replicaset:3       (what clients see)
    duration: 1m                 (when it ends)
    steps:
    - at: 5s                     (from the start)
      front: 0                   (default: all fronts)
      setParameter: {ingressRequestRateLimiterEnabled: true}
    - at: 10s
      failPoint: {name: failCommand, mode: {times: 5}, data: {failCommands: [find], errorCode: 91}}
    - at: 20s
      stepDown: {for: 10s}
    - at: 30s
      front: 1
      fault: {kind: slow, delay: 100ms, for: 5s}

Kinds of fault: silent, slow, reset, restart, off. On real members that the lab starts (--mongod) also

    - at: 40s
      front: 2
      process: kill              (or restart, pause, resume)
    - at: 50s
      partition: {members: [0, 2], for: 5s}`
}

// Run runs the scenario until it ends, or the context does.
func (c *runCmd) Run(env *environment) error {
	text, err := os.ReadFile(c.Scenario)
	if err != nil {
		return err
	}
	s, err := scenario.Parse(text)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Scenario, err)
	}
	spec, err := topology.ParseSpec(s.Topology)
	if err != nil {
		return err
	}
	config, err := c.config(spec, env.stderr)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(env.stderr, nil))
	return c.serve(env, config, func(ctx context.Context, l *deployment.Lab) error {
		return s.Run(ctx, l, clock.System{}, log)
	})
}
