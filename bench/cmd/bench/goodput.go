package main

import (
	"context"
	"errors"
	"os"
	"time"

	"mongofork/bench/internal/goodput"
	"mongofork/bench/internal/report"
	"mongofork/bench/internal/result"
	"mongofork/tools/rig/server"
)

type goodputCmd struct {
	overloadFlags
	Server bool `default:"true" negatable:"" help:"Also measure with a real server behind the lab: the one that $MONGODB_URI names, or a new one."`
}

// Validate is called by the parser.
func (c *goodputCmd) Validate() error { return c.validate(stormKind, serverKind, fleetsKind) }

// Run measures the drivers for Go under overload.
func (c *goodputCmd) Run(ctx context.Context, console console) error {
	setting := result.CurrentSetting("/", time.Now())
	temp, err := os.MkdirTemp("", "bench-goodput-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	config, err := c.build(ctx, console, temp, goodput.Scenarios())
	if err != nil {
		return err
	}
	if err := c.measureDrivers(ctx, console, config, setting); err != nil {
		return err
	}
	if c.wants(fleetsKind) {
		if err := c.measureFleets(ctx, console, config); err != nil {
			return err
		}
	}
	if !c.Server || !c.wants(serverKind) {
		return nil
	}
	return c.measureServer(ctx, console, config)
}

const goodputCommand = "make bench-goodput"

// measureDrivers measures with canned replies behind the lab.
func (c *goodputCmd) measureDrivers(ctx context.Context, console console, config goodput.Config, setting *result.Setting) error {
	config.Storm = goodput.NewStorm(c.Storm)
	file := result.File[*goodput.Results]{Command: goodputCommand, Setting: setting}
	return c.measureCanned(ctx, console, c.chosen(config), file, report.GoodputFile, c.everything())
}

// measureFleets measures one client and a hundred in the same way. The results are complete if all drivers were asked for.
func (c *goodputCmd) measureFleets(ctx context.Context, console console, config goodput.Config) error {
	config.Scenarios, config.Arms = goodput.FleetScenarios(), c.chosenArms(config.Arms)
	file := result.File[*goodput.Results]{Command: goodputCommand, Setting: result.CurrentSetting("/", time.Now())}
	return c.measureCanned(ctx, console, config, file, report.GoodputFleetsFile, len(c.Arm) == 0)
}

// measureServer measures with a real server behind the lab, if there is any.
func (c *goodputCmd) measureServer(ctx context.Context, console console, config goodput.Config) error {
	config.Scenarios, config.Storm = goodput.ServerScenarios(), goodput.Storm{}
	config.Arms = c.chosenArms(config.Arms)
	mongod, err := server.MembersBinary(ctx, server.Config{Root: c.Root, Progress: console.Progress})
	if err != nil && !errors.Is(err, server.ErrUnavailable) {
		return err
	}
	config.Mongod = mongod
	return c.onServer(ctx, console, server.Config{BehindLab: true}, func(uri, name string) error {
		file := result.File[*goodput.ServerResults]{Command: goodputCommand, Setting: result.CurrentSetting("/", time.Now())}
		config.Backend = uri
		results, err := goodput.MeasureServer(ctx, config)
		if err != nil {
			return err
		}
		file.Results = &goodput.ServerResults{Server: name, Results: results}
		if c.everything() {
			if err := file.Write(c.results(report.GoodputServerFile)); err != nil {
				return err
			}
		}
		return report.PrintGoodput(console.Out, results)
	})
}
