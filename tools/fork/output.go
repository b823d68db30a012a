package fork

import (
	"context"

	"mongofork/tools/command"
	"mongofork/tools/fork/drift"
	"mongofork/tools/fork/output"
)

// Patch returns the overlay as one commit on top of the upstream module, in
// the format of git format-patch.
func (p *Project) Patch(ctx context.Context, run command.RunFunc, opt output.PatchOptions) ([]byte, error) {
	plan, err := p.Plan(ctx)
	if err != nil {
		return nil, err
	}
	return output.Patch(ctx, run, plan, opt)
}

// Release writes the fork into dir, as a folder that serves as a GOPROXY, and the adapters with it. A version that was
// released with another content is a problem; one that is final is recorded.
func (p *Project) Release(ctx context.Context, dir string, final bool) (*output.Release, error) {
	plan, a, err := p.Assemble(ctx)
	if err != nil {
		return nil, err
	}
	return output.WriteRelease(p.Root, plan, a, dir, final)
}

// ReleaseVersion returns the version that the fork is released as: the base, a hyphen, and the patch level that the overlay names.
func (p *Project) ReleaseVersion(ctx context.Context) (string, error) {
	plan, err := p.Match(ctx)
	if err != nil {
		return "", err
	}
	return output.ReleaseVersion(plan)
}

// Drift compares the overlay's upstream declarations with those of another version. The overlay itself is read as for the project's
// base.
func (p *Project) Drift(ctx context.Context, version string) ([]drift.Row, error) {
	plan, err := p.Match(ctx)
	if err != nil {
		return nil, err
	}
	target, err := p.Source.Module(ctx, plan.Module.Path, version)
	if err != nil {
		return nil, err
	}
	return drift.Compare(plan, target)
}
