package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"mongofork/lab/internal/soak"
)

// errViolations means that the report has violations.
var errViolations = errors.New("there were violations; the report lists them, and the seed repeats the plan")

type soakCmd struct {
	Mongod   string        `required:"" type:"existingfile" placeholder:"FILE" help:"The members' mongod."`
	Dir      string        `type:"existingdir" default:"." placeholder:"DIR" help:"Folder for their files, which are removed at the end."`
	Seed     uint64        `placeholder:"N" help:"Seed of the plan of faults. 0 takes any, and prints it."`
	Seeds    int           `default:"1" placeholder:"N" help:"Number of plans, from this seed on. They share the duration."`
	Duration time.Duration `default:"2m" help:"How long the applications work."`
	Fork     []string      `required:"" placeholder:"NAME=FILE" help:"Lab built with a driver that has to pass, without and with adaptiveRetries, and with adaptiveThrottling."`
	Other    []string      `placeholder:"NAME=FILE" help:"Lab built with a driver to compare with."`
}

// Run runs the soak and prints its report.
func (c *soakCmd) Run(env *environment) error {
	if c.Duration <= 0 || c.Seeds < 1 {
		return errors.New("--duration and --seeds have to be more than 0")
	}
	if c.Seed == 0 {
		c.Seed = rand.Uint64()
	}
	arms, err := c.arms()
	if err != nil {
		return err
	}
	config := soak.Config{
		Mongod: c.Mongod, Dir: c.Dir, Duration: c.Duration / time.Duration(c.Seeds),
		Arms: arms, Progress: env.stderr,
	}
	tally := soak.NewTally(arms)
	// If a run fails, the results so far are reported too.
	defer func() { fmt.Fprint(env.stdout, tally.Render()) }()
	for i := range c.Seeds {
		config.Seed = c.Seed + uint64(i)
		reports, err := soak.Run(env.ctx, config)
		if err != nil {
			return fmt.Errorf("seed %d: %w", config.Seed, err)
		}
		tally.Add(config.Seed, reports)
	}
	if tally.Failed() {
		return errViolations
	}
	return nil
}

// arms returns the applications.
func (c *soakCmd) arms() (arms []soak.Arm, err error) {
	for _, other := range c.Other {
		name, binary, _ := strings.Cut(other, "=")
		arms = append(arms, soak.Arm{Name: name, Binary: binary, Reference: true})
	}
	for _, fork := range c.Fork {
		name, binary, _ := strings.Cut(fork, "=")
		arms = append(arms,
			soak.Arm{Name: name, Binary: binary},
			soak.Arm{Name: name + ", adaptive", Binary: binary, Options: "adaptiveRetries=true"},
			soak.Arm{Name: name + ", throttling", Binary: binary, Options: "adaptiveThrottling=true"},
		)
	}
	for _, arm := range arms {
		if arm.Binary == "" {
			return nil, fmt.Errorf("--fork or --other %s: give NAME=FILE", arm.Name)
		}
	}
	return arms, nil
}

// soakArmCmd is an application of a soak.
type soakArmCmd struct{}

// Run reads the assignment, and writes the report.
func (c *soakArmCmd) Run(env *environment) error {
	var work soak.Assignment
	if err := json.NewDecoder(os.Stdin).Decode(&work); err != nil {
		return fmt.Errorf("what to do: %w", err)
	}
	report, err := soak.Work(env.ctx, work)
	if err != nil {
		return err
	}
	return json.NewEncoder(env.stdout).Encode(report)
}
