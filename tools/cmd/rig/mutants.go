package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"mongofork/tools/rig/mutants"
	"mongofork/tools/rig/suite"
)

type mutantsCmd struct {
	Seed  uint64 `default:"1" help:"The seed of the choice."`
	Count int    `default:"300" help:"How many are made. Some do not compile."`
}

// Run chooses mutants, plants them all into a copy of the fork, and judges them by the overlay's tests.
func (c *mutantsCmd) Run(ctx context.Context, rig *suite.Rig, stdout io.Writer) error {
	tree := filepath.Join(rig.Root, "build", "mutants")
	fork := filepath.Join(rig.Root, "build", rig.Base)
	if err := errors.Join(os.RemoveAll(tree), os.CopyFS(tree, os.DirFS(fork))); err != nil {
		return err
	}
	chosen, err := mutants.Choose(tree, filepath.Join(rig.Root, "build", "pristine", rig.Base), c.Seed, c.Count)
	if err != nil {
		return err
	}
	if chosen, err = mutants.Plant(ctx, tree, chosen); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s, seed %d: %d mutants compile, of %d\n", rig.Base, c.Seed, len(chosen), c.Count)
	binaries, err := c.binaries(ctx, rig, tree)
	if err != nil {
		return err
	}
	jury, err := mutants.Summon(ctx, binaries, stdout)
	if err != nil {
		return err
	}
	verdicts, err := jury.Judge(ctx, chosen)
	if err != nil {
		return err
	}
	share := mutants.Report(stdout, chosen, verdicts)
	fmt.Fprintf(stdout, "%.1f %% noticed, time-outs not counted\n", 100*share)
	return nil
}

// binaries compiles the tests.
func (c *mutantsCmd) binaries(ctx context.Context, rig *suite.Rig, tree string) (all []mutants.Binary, err error) {
	tests, env, err := rig.OwnTests(ctx, "build/mutants")
	if err != nil {
		return nil, err
	}
	for folder, names := range tests {
		binary := filepath.Join(tree, "mutants.bin", strings.ReplaceAll(folder, "/", "_")+".test")
		if err := mutants.CompileTests(ctx, filepath.Join(tree, folder), binary); err != nil {
			return nil, err
		}
		all = append(all, mutants.Binary{Path: binary, Folder: filepath.Join(tree, folder), Tests: names, Env: env})
	}
	return all, nil
}
