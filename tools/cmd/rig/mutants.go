package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
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
	if err := errors.Join(os.RemoveAll(tree), os.CopyFS(tree, os.DirFS(fork))); err != nil {
		return err
	}
	chosen, err := c.choose(rig, fork)
	if err != nil {
		return err
	}
	asked := len(chosen)
	if chosen, err = mutants.Plant(ctx, tree, chosen); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s: %d mutants compile, of %d\n", rig.Base, len(chosen), asked)
	if len(c.Names) > 0 && len(chosen) < asked {
		return fmt.Errorf("a defect of %s does not compile: mend it there", mutants.Table)
	}
	names := slices.DeleteFunc(c.By, func(name string) bool {
		return !slices.ContainsFunc(chosen, func(m mutants.Mutant) bool { return m.For(name) })
	})
	judges, err := c.judges(ctx, rig, builder, tree, names, stdout)
	if err != nil {
		return err
	}
	share, err := mutants.Run(ctx, chosen, names, judges, len(c.Names) > 0, stdout)
	if err != nil {
		return err
	}
	if share < enough {
		return suite.ErrFailed
	}
	return nil
}

// choose returns the named mutants, or random ones.
func (c *mutantsCmd) choose(rig *suite.Rig, fork string) ([]mutants.Mutant, error) {
	if len(c.Names) == 0 {
		return mutants.Choose(fork, filepath.Join(rig.Root, "build", "pristine", rig.Base), c.Seed, c.Count)
	}
	var defects []mutants.Defect
	if err := strict.Read(filepath.Join(rig.Root, mutants.Table), &defects); err != nil {
		return nil, err
	}
	all, err := mutants.Named(fork, defects)
	if slices.Contains(c.Names, "all") {
		return all, err
	}
	chosen := slices.DeleteFunc(all, func(m mutants.Mutant) bool { return !slices.Contains(c.Names, m.Name) })
	if err == nil && len(chosen) < len(c.Names) {
		err = fmt.Errorf("%s does not list all of these: %s", mutants.Table, strings.Join(c.Names, " "))
	}
	return chosen, err
}

// judges builds the named judges. Nothing may be noticed without a mutant: what is noticed later would say nothing.
func (c *mutantsCmd) judges(ctx context.Context, rig *suite.Rig, builder programs.Builder, tree string, names []string, stdout io.Writer) (
	judges map[string]mutants.Judge, err error) {
	tests := &mutants.Tests{Tree: tree}
	compare := programs.Compare{Seeds: c.Seeds, Seed: 1, First: true, Fork: tree}
	parallel := programs.Parallel{Driver: tree, Race: c.Race}
	judges = map[string]mutants.Judge{"tests": tests.Judge, "compare": func(ctx context.Context, m mutants.Mutant) (string, error) {
		var out strings.Builder
		err := compare.Start(ctx, builder, &out, mutants.Switch+"="+m.Name)
		if seed, _, is := strings.Cut(out.String(), ": "); err != nil && is && strings.HasPrefix(seed, "seed ") {
			return seed, nil
		}
		return "", err
	}, mutants.Parallel: func(ctx context.Context, m mutants.Mutant) (string, error) {
		return parallel.Start(ctx, builder, mutants.Switch+"="+m.Name)
	}}
	for _, name := range names {
		switch name {
		case "tests":
			if tests.ByFolder, tests.Env, err = rig.OwnTests(ctx, "build/"+rig.Base); err == nil {
				err = tests.Learn(ctx, stdout)
			}
		case "compare":
			err = compare.Build(ctx, builder)
		case mutants.Parallel:
			err = parallel.Build(ctx, builder)
		}
		if err != nil {
			return nil, err
		}
		if found, err := judges[name](ctx, mutants.Mutant{}); err != nil || found != "" {
			return nil, fmt.Errorf("%s: without a mutant it finds %q: %w", name, found, err)
		}
	}
	return judges, nil
}
