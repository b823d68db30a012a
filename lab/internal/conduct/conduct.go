// Package conduct runs applications with different drivers on the same real members, side by side, under the same faults at the
// same times.
package conduct

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"mongofork/lab/internal/members"
	"mongofork/lab/internal/soak"
	"mongofork/tools/rig/process"
)

const (
	count = 3
	// connectTime is the applications' time to start and connect before the plan begins.
	connectTime = 4 * time.Second
	// patience bounds the applications' time to finish and compare after the plan.
	patience = 4 * time.Minute
)

// ArmCommand is the lab's command that runs one application. It reads its soak.Config and writes its soak.Report, as JSON.
const ArmCommand = "soak-arm"

// Arm is an application with a driver.
type Arm struct {
	Name string
	// Binary is the lab, built with the driver.
	Binary string
	// Adaptive and Throttling are those of the soak.Config.
	Adaptive, Throttling bool
	// Reference marks a reference, whose violations are no failure.
	Reference bool
}

// Config configures a run.
type Config struct {
	// Mongod is the binary of the members, Dir the parent folder of their files.
	Mongod, Dir string
	Seed        uint64
	Duration    time.Duration
	// Workers and Pace apply to each application.
	Workers int
	Pace    time.Duration
	Arms    []Arm
	// Progress receives a line for each event.
	Progress io.Writer
}

// Run runs all arms by the plan of a seed, and returns their reports in their order.
func Run(ctx context.Context, config Config) (_ []*soak.Report, err error) {
	own, err := members.Start(ctx, config.Mongod, config.Dir, count)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, own.Stop()) }()
	fmt.Fprintf(config.Progress, "seed %d: %d members of version %s\n", config.Seed, count, own.Version())
	reports := make([]*soak.Report, len(config.Arms))
	start := time.Now().Add(connectTime)
	group, ctx := errgroup.WithContext(ctx)
	for i, arm := range config.Arms {
		group.Go(func() (err error) {
			if reports[i], err = config.runArm(ctx, own, i, start); err != nil {
				return fmt.Errorf("%s: %w", arm.Name, err)
			}
			return nil
		})
	}
	group.Go(func() error {
		d := &disturber{set: own.Set, progress: config.Progress}
		return d.run(ctx, soak.RealPlan(config.Seed, config.Duration, count), start)
	})
	err = group.Wait()
	return reports, errors.Join(err, own.Err())
}

// runArm runs an application to its end.
func (c *Config) runArm(ctx context.Context, own *members.Own, i int, start time.Time) (*soak.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Until(start)+c.Duration+patience)
	defer cancel()
	input := soak.Config{
		Seed: c.Seed, Duration: c.Duration, Workers: c.Workers, Pace: c.Pace, Start: start,
		Adaptive: c.Arms[i].Adaptive, Throttling: c.Arms[i].Throttling,
		Backend: own.Direct(), SetName: own.Name(), Database: fmt.Sprintf("soak%d", i),
	}
	for _, m := range own.Members() {
		input.Members = append(input.Members, soak.Member{Host: m.Host, Address: m.Backend.Address})
	}
	encoded, err := json.Marshal(input)
	if err != nil {
		return nil, err
	}
	cmd := process.Command(ctx, "", nil, c.Arms[i].Binary, ArmCommand)
	var output, log bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(encoded), &output, &log
	err = cmd.Run()
	process.Reap(cmd)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", errors.Join(err, context.Cause(ctx)), strings.TrimSpace(log.String()))
	}
	report := &soak.Report{}
	if err := json.Unmarshal(output.Bytes(), report); err != nil {
		return nil, fmt.Errorf("its report %.200q: %w", output.Bytes(), err)
	}
	return report, nil
}
