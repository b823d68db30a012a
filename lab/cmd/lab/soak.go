package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"mongofork/lab/internal/soak"
)

// errViolations means that the report has violations.
var errViolations = errors.New("there were violations; the report lists them, and the seed repeats the plan")

type soakCmd struct {
	Mongod   string            `required:"" type:"existingfile" placeholder:"FILE" help:"The members' mongod."`
	Dir      string            `type:"existingdir" default:"." placeholder:"DIR" help:"Folder for their files, which are removed at the end."`
	Seed     uint64            `placeholder:"N" help:"Seed of the plan of faults. 0 takes any, and prints it."`
	Seeds    int               `default:"1" placeholder:"N" help:"Number of plans, from this seed on. They share the duration."`
	Only     []string          `placeholder:"FAULT" help:"Faults to plan, such as overload; all by default."`
	Duration time.Duration     `default:"2m" help:"How long the applications work."`
	Fork     map[string]string `required:"" placeholder:"NAME=FILE" help:"Lab built with a driver that has to pass, without and with adaptiveRetries, and with adaptiveThrottling."`
	Other    map[string]string `placeholder:"NAME=FILE" help:"Lab built with a driver to compare with."`
}

// Run runs the soak and prints its report.
func (c *soakCmd) Run(env *environment) error {
	if c.Duration <= 0 || c.Seeds < 1 {
		return errors.New("--duration and --seeds have to be more than 0")
	}
	if c.Seed == 0 {
		c.Seed = rand.Uint64()
	}
	config := soak.Config{
		Mongod: c.Mongod, Dir: c.Dir, Duration: c.Duration / time.Duration(c.Seeds), Arms: c.arms(), Progress: env.stderr,
	}
	var err error
	if config.Actions, err = soak.Actions(c.Only); err != nil {
		return err
	}
	// If a run fails, the results so far are reported too.
	defer func() { fmt.Fprint(env.stdout, soak.Render(config.Arms)) }()
	for i := range c.Seeds {
		config.Seed = c.Seed + uint64(i)
		if err := soak.Run(env.ctx, config); err != nil {
			return fmt.Errorf("seed %d: %w", config.Seed, err)
		}
	}
	if slices.ContainsFunc(config.Arms, (*soak.Arm).Failed) {
		return errViolations
	}
	return nil
}

// arms returns the applications.
func (c *soakCmd) arms() (arms []*soak.Arm) {
	for _, name := range slices.Sorted(maps.Keys(c.Other)) {
		arms = append(arms, &soak.Arm{Name: name, Binary: c.Other[name], Reference: true})
	}
	for _, name := range slices.Sorted(maps.Keys(c.Fork)) {
		binary := c.Fork[name]
		arms = append(arms,
			&soak.Arm{Name: name, Binary: binary},
			&soak.Arm{Name: name + ", adaptive", Binary: binary, Options: "adaptiveRetries=true"},
			&soak.Arm{Name: name + ", throttling", Binary: binary, Options: "adaptiveThrottling=true"},
		)
	}
	return arms
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
