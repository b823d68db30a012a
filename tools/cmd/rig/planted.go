package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mongofork/tools/gotest"
	"mongofork/tools/rig/planted"
	"mongofork/tools/rig/process"
	"mongofork/tools/rig/suite"
	"mongofork/tools/strict"
)

type plantedCmd struct {
	By    []string `sep:"," enum:"compare,tests" default:"compare,tests" help:"Who looks for them: the comparison, or the overlay's tests."`
	Seeds uint     `default:"2000" help:"The number of plans that may find a defect."`
	Only  []string `arg:"" optional:"" name:"defect" help:"Names of defects; all by default."`
}

// Run plants defects into the fork.
func (c *plantedCmd) Run(ctx context.Context, rig *suite.Rig, stdout io.Writer) error {
	var defects []planted.Defect
	if err := strict.Read(filepath.Join(rig.Root, filepath.FromSlash(planted.Table)), &defects); err != nil {
		return err
	}
	judges := planted.Judges{Root: rig.Root, By: c.By, Compare: func(ctx context.Context, args ...string) ([]byte, error) {
		args = append([]string{"compare", "FIRST=1", fmt.Sprintf("SEEDS=%d", c.Seeds)}, args...)
		cmd := process.Command(ctx, rig.Root, append(os.Environ(), "MAKEFLAGS=", "BASE="+rig.Base), "make", args...)
		defer process.Reap(cmd)
		cmd.Stderr = os.Stderr
		return cmd.Output()
	}, Test: func(ctx context.Context, tree, defect string) ([]string, error) {
		with := *rig
		with.Environ = append(slices.Clone(rig.Environ), planted.Switch+"="+defect)
		result, err := with.Ours(ctx, tree)
		var failed []string
		for _, f := range result.Failures {
			folder, test, _ := strings.Cut(f.Name, " ")
			failed = append(failed, path.Base(folder)+"."+gotest.Key{Test: test}.Function().Test)
		}
		slices.Sort(failed)
		return slices.Compact(failed), err
	}}
	enough, err := judges.Run(ctx, path.Join("build", rig.Base), defects, c.Only, stdout)
	if err == nil && !enough {
		return suite.ErrFailed
	}
	return err
}
