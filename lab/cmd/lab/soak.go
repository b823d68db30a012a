package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"mongofork/lab/internal/conduct"
	"mongofork/lab/internal/soak"
)

// errViolations means that the report has violations.
var errViolations = errors.New("there were violations; the report lists them, and the seed repeats the plan")

type soakCmd struct {
	Backend  string        `env:"MONGODB_URI" placeholder:"URI" help:"Connection string of a server, with one host, to make a replica set of. Its database \"soak\" is dropped."`
	Mongod   string        `type:"existingfile" placeholder:"FILE" help:"Run on three real members of this mongod instead."`
	Dir      string        `type:"existingdir" default:"." placeholder:"DIR" help:"Folder for their files, which are removed at the end."`
	Seed     uint64        `placeholder:"N" help:"Seed of the plan of faults. 0 takes any, and prints it."`
	Seeds    int           `default:"1" placeholder:"N" help:"Number of plans, from this seed on. They share the duration. Real members only."`
	Duration time.Duration `default:"2m" help:"How long the application works."`
	Workers  int           `placeholder:"N" help:"Workers of each kind; by default 4, or 1 on real members."`
	Pace     time.Duration `placeholder:"TIME" help:"Least wait of a worker between two operations; by default 10ms, or 50ms on real members."`
	Adaptive bool          `default:"true" negatable:"" help:"Set adaptiveRetries."`
	Fork     []string      `placeholder:"NAME=FILE" help:"Lab built with a driver that has to pass, without and with adaptiveRetries, and with adaptiveThrottling; this one by default. Real members only."`
	Other    []string      `placeholder:"NAME=FILE" help:"Lab built with a driver to compare with. Real members only."`
	Markdown bool          `help:"Write the table as Markdown. Real members only."`
}

// Run runs the soak and prints its report.
func (c *soakCmd) Run(env *environment) error {
	if c.Duration <= 0 || c.Workers < 0 || c.Pace < 0 || c.Seeds < 1 {
		return errors.New("--duration and --seeds have to be more than 0, --workers and --pace not less")
	}
	if c.Seed == 0 {
		c.Seed = rand.Uint64()
	}
	if c.Mongod != "" {
		return c.conduct(env)
	}
	if c.Backend == "" {
		return errors.New("missing flags: --backend=URI, or --mongod=FILE for real members")
	}
	if c.Workers == 0 {
		c.Workers = 4
	}
	fmt.Fprintf(env.stderr, "seed %d\n", c.Seed)
	report, err := soak.Run(env.ctx, soak.Config{
		Seed: c.Seed, Duration: c.Duration, Workers: c.Workers, Pace: c.Pace, Backend: c.Backend, Adaptive: c.Adaptive,
		Progress: env.stderr,
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

// conduct runs the soak on real members.
func (c *soakCmd) conduct(env *environment) error {
	arms, err := c.arms()
	if err != nil {
		return err
	}
	config := conduct.Config{
		Mongod: c.Mongod, Dir: c.Dir, Duration: c.Duration / time.Duration(c.Seeds), Workers: max(c.Workers, 1), Pace: c.Pace,
		Arms: arms, Progress: env.stderr,
	}
	if config.Pace == 0 {
		config.Pace = 50 * time.Millisecond
	}
	tally := conduct.NewTally(arms)
	// If a run fails, the results so far are reported too.
	defer func() { fmt.Fprint(env.stdout, tally.Render(c.Markdown)) }()
	for i := range c.Seeds {
		config.Seed = c.Seed + uint64(i)
		reports, err := conduct.Run(env.ctx, config)
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
func (c *soakCmd) arms() ([]conduct.Arm, error) {
	var arms []conduct.Arm
	for _, other := range c.Other {
		name, binary, ok := strings.Cut(other, "=")
		if !ok {
			return nil, fmt.Errorf("--other=%s: give NAME=FILE", other)
		}
		arms = append(arms, conduct.Arm{Name: name, Binary: binary, Reference: true})
	}
	forks := c.Fork
	if len(forks) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		forks = []string{"this driver=" + self}
	}
	for _, fork := range forks {
		name, binary, ok := strings.Cut(fork, "=")
		if !ok {
			return nil, fmt.Errorf("--fork=%s: give NAME=FILE", fork)
		}
		arms = append(arms,
			conduct.Arm{Name: name, Binary: binary},
			conduct.Arm{Name: name + ", adaptive", Binary: binary, Adaptive: true},
			conduct.Arm{Name: name + ", throttling", Binary: binary, Throttling: true},
		)
	}
	return arms, nil
}

// soakArmCmd is an application of a soak on real members.
type soakArmCmd struct{}

// Run reads the configuration, and writes the report.
func (c *soakArmCmd) Run(env *environment) error {
	config := soak.Config{Progress: env.stderr}
	if err := json.NewDecoder(os.Stdin).Decode(&config); err != nil {
		return fmt.Errorf("what to do: %w", err)
	}
	report, err := soak.Run(env.ctx, config)
	if err != nil {
		return err
	}
	return json.NewEncoder(env.stdout).Encode(report)
}
