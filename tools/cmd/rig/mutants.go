package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"mongofork/tools/rig/mutants"
	"mongofork/tools/rig/programs"
	"mongofork/tools/rig/suite"
	"mongofork/tools/strict"
)

type mutantsCmd struct {
	Seed  uint64   `default:"1" help:"The seed of the choice."`
	Count int      `default:"300" help:"How many are made. Some do not compile."`
	By    []string `sep:"," enum:"tests,compare,parallel" default:"tests,compare,parallel" help:"What looks for them, in this order: the overlay's tests that need no server, the comparison with upstream, and goroutines in parallel, for defects that only these meet."`
	Seeds uint64   `default:"500" help:"The number of plans of the comparison that may find one."`
	Race  bool     `help:"Let goroutines run in parallel with the race detector, which needs a C compiler."`
	Names []string `arg:"" optional:"" name:"defect" help:"Defects of etc/planted.yaml to plant instead; \"all\" are all of them."`
}

// enough is the share of the mutants that has to be noticed.
const enough = 0.95

// Run plants mutants into a copy of the fork, and lets judges look for each.
func (c *mutantsCmd) Run(ctx context.Context, rig *suite.Rig, builder programs.Builder, stdout io.Writer) error {
	fork, tree := filepath.Join(rig.Root, "build", rig.Base), filepath.Join(rig.Root, "build", "mutants", rig.Base)
	chosen, err := c.choose(rig, fork)
	if err != nil {
		return err
	}
	asked := len(chosen)
	if chosen, err = mutants.Plant(ctx, fork, tree, chosen); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s: %d mutants compile, of %d\n", rig.Base, len(chosen), asked)
	if len(c.Names) > 0 && len(chosen) < asked {
		return fmt.Errorf("a defect of %s does not compile: mend it there", mutants.Table)
	}
	var judges []mutants.Judge
	for _, name := range c.By {
		if slices.ContainsFunc(chosen, func(m mutants.Mutant) bool { return m.Parallel == (name == mutants.Parallel) }) {
			judge, err := c.judge(ctx, rig, builder, tree, name, stdout)
			if err != nil {
				return err
			}
			// Nothing may be noticed without a mutant: what is noticed later would say nothing.
			if found, err := judge.Look(ctx, mutants.Mutant{}); err != nil || found != "" {
				return fmt.Errorf("%s: without a mutant it finds %q: %w", name, found, err)
			}
			judges = append(judges, judge)
		}
	}
	share, err := mutants.Run(ctx, chosen, judges, len(c.Names) > 0, stdout)
	if err == nil && share < enough {
		err = suite.ErrFailed
	}
	return err
}

// choose returns the named mutants, or random ones.
func (c *mutantsCmd) choose(rig *suite.Rig, fork string) ([]mutants.Mutant, error) {
	if len(c.Names) == 0 {
		return mutants.Choose(fork, filepath.Join(rig.Root, "build", "pristine", rig.Base), c.Seed, c.Count)
	}
	var table []mutants.Mutant
	if err := strict.Read(filepath.Join(rig.Root, mutants.Table), &table); err != nil {
		return nil, err
	}
	all, err := mutants.Named(fork, table)
	if slices.Contains(c.Names, "all") {
		return all, err
	}
	chosen := slices.DeleteFunc(all, func(m mutants.Mutant) bool { return !slices.Contains(c.Names, m.Name) })
	if err == nil && len(chosen) < len(c.Names) {
		err = fmt.Errorf("%s does not list all of these: %s", mutants.Table, strings.Join(c.Names, " "))
	}
	return chosen, err
}

func (c *mutantsCmd) judge(ctx context.Context, rig *suite.Rig, builder programs.Builder, tree, name string, stdout io.Writer) (
	j mutants.Judge, err error) {
	switch j.Name = name; name {
	case "tests":
		tests := &mutants.Tests{Tree: tree}
		j.Look = tests.Look
		if tests.ByFolder, tests.Env, err = rig.OwnTests(ctx, "build/"+rig.Base); err == nil {
			err = tests.Learn(ctx, stdout)
		}
	case "compare":
		compare := programs.Compare{Seeds: c.Seeds, Seed: 1, First: true, Fork: tree}
		j.Look = func(ctx context.Context, m mutants.Mutant) (string, error) {
			var out strings.Builder
			err := compare.Start(ctx, builder, &out, mutants.Switch+"="+m.Name)
			if seed, _, is := strings.Cut(out.String(), ": "); err != nil && is && strings.HasPrefix(seed, "seed ") {
				return seed, nil
			}
			return "", err
		}
		err = compare.Build(ctx, builder)
	case mutants.Parallel:
		parallel := programs.Parallel{Driver: tree, Race: c.Race}
		j.Look = func(ctx context.Context, m mutants.Mutant) (string, error) {
			return parallel.Start(ctx, builder, mutants.Switch+"="+m.Name)
		}
		err = parallel.Build(ctx, builder)
	}
	return j, err
}
