package main

import (
	"context"
	"os"
	"path"
	"path/filepath"

	"mongofork/tools/rig/server"
	"mongofork/tools/rig/suite"
)

type soakCmd struct {
	ForkOnly bool     `help:"Run only with the fork of this base, not with the other forks and the untouched drivers."`
	Flags    []string `arg:"" optional:"" passthrough:"" help:"Flags of \"lab soak\" (after --), such as --seed, --seeds and --duration."`
}

// Run builds the lab with each driver and runs the soak. The forks decide on the exit code; the untouched drivers are there for
// comparison.
func (c *soakCmd) Run(ctx context.Context, r *repository) error {
	mongod, err := server.MembersBinary(ctx, server.Config{Root: r.root, Progress: os.Stderr})
	if err != nil {
		return err
	}
	bases := r.bases
	if c.ForkOnly {
		bases = []string{r.base}
	}
	var conductor string
	args := []string{"--mongod", mongod, "--dir", filepath.Join(r.root, "build", "server")}
	for _, base := range bases {
		if _, err := r.build(ctx, base); err != nil {
			return err
		}
		forked, err := suite.BuildLab(ctx, r.root, path.Join("build", base))
		if err != nil {
			return err
		}
		args = append(args, "--fork", "fork of "+base+"="+forked)
		if base == r.base {
			conductor = forked
		}
		if c.ForkOnly {
			break
		}
		untouched, err := suite.BuildLab(ctx, r.root, path.Join("build", "pristine", base))
		if err != nil {
			return err
		}
		args = append(args, "--other", base+"="+untouched)
	}
	flags := c.Flags
	if len(flags) > 0 && flags[0] == "--" {
		flags = flags[1:]
	}
	return passThrough(ctx, nil, append(append([]string{conductor, "soak"}, flags...), args...))
}
