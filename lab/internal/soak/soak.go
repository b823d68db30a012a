// Package soak lets applications with different drivers work on the same real members, side by side, while everything goes wrong,
// at the same times for all. Each records what its driver told it, and finally compares that with what is on the members.
package soak

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

	"mongofork/lab/internal/fronts"
	"mongofork/lab/internal/topology"
	"mongofork/tools/rig/process"
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

// ArmCommand is the lab's command that runs one application. It reads its Assignment and writes its Report, as JSON.
const ArmCommand = "soak-arm"

// Arm is an application with a driver, and the sum of its reports.
type Arm struct {
	Name string
	// Binary is the lab, built with the driver.
	Binary string
	// Options are further options of the connection string, such as "adaptiveRetries=true"; a driver that does not know them
	// ignores them.
	Options string
	// Reference marks a reference, whose violations are no failure.
	Reference bool
	Report
}

// Failed reports whether an application that has to pass found a violation.
func (a *Arm) Failed() bool { return !a.Reference && len(a.Violations) > 0 }

// Config configures a run.
type Config struct {
	// Mongod is the binary of the members, Dir the parent folder of their files.
	Mongod, Dir string
	Seed        uint64
	Duration    time.Duration
	Actions     []*Action
	Arms        []*Arm
	// Progress receives a line for each event.
	Progress io.Writer
}

// Run runs all arms by the plan of a seed.
func Run(ctx context.Context, config Config) (err error) {
	set, err := fronts.StartMembers(ctx, config.Mongod, config.Dir, count)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, set.Stop()) }()
	fmt.Fprintf(config.Progress, "seed %d: %d members of version %s\n", config.Seed, count, set.Version())

	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	served, serving := errgroup.WithContext(serving)
	defer func() {
		stop()
		err = errors.Join(err, served.Wait())
	}()
	d := &disturber{progress: config.Progress}
	start := time.Now().Add(connectTime)
	group, ctx := errgroup.WithContext(ctx)
	for i, arm := range config.Arms {
		lab, err := fronts.Open(fronts.Config{Topology: topology.Spec{Kind: topology.ReplicaSet, Members: count}, Members: set})
		if err != nil {
			return err
		}
		served.Go(func() error { return lab.Run(serving) })
		d.labs = append(d.labs, lab)
		work := Assignment{
			Duration: config.Duration, Start: start, URI: lab.URIs()[0] + impatient + "&" + arm.Options,
			Direct: set.URI(), Database: fmt.Sprintf("soak%d", i),
		}
		group.Go(func() error { return config.runArm(ctx, arm, work) })
	}
	group.Go(func() error { return d.run(ctx, Plan(config.Seed, config.Duration, count, config.Actions), start) })
	return errors.Join(group.Wait(), set.Err())
}

// runArm runs an application to its end.
func (c *Config) runArm(ctx context.Context, arm *Arm, work Assignment) error {
	ctx, cancel := context.WithTimeout(ctx, time.Until(work.Start)+c.Duration+armPatience)
	defer cancel()
	encoded, err := json.Marshal(work)
	if err != nil {
		return err
	}
	cmd := process.Command(ctx, "", nil, arm.Binary, ArmCommand)
	var output, log bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(encoded), &output, &log
	err = cmd.Run()
	process.Reap(cmd)
	if err != nil {
		return fmt.Errorf("%s: %w: %s", arm.Name, errors.Join(err, context.Cause(ctx)), strings.TrimSpace(log.String()))
	}
	var report Report
	if err := json.Unmarshal(output.Bytes(), &report); err != nil {
		return fmt.Errorf("%s: its report %.200q: %w", arm.Name, output.Bytes(), err)
	}
	arm.sum(c.Seed, &report)
	return nil
}
