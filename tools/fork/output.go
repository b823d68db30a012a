package fork

import (
	"context"
	"path/filepath"

	"mongofork/tools/command"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/output"
)

// Extract finds the overlay text behind every edit of the output and, unless
// dryRun is set, changes the overlay. If any edit cannot be brought back the
// error is a problem.List, and nothing is changed.
func (p *Project) Extract(ctx context.Context, out output.Folder, dryRun bool) ([]output.Extraction, error) {
	edits, err := out.Edits()
	if err != nil || edits == nil {
		return nil, err
	}
	plan, a, err := p.Assemble(ctx)
	if err != nil {
		return nil, err
	}
	folders, err := p.Folders()
	if err != nil {
		return nil, err
	}
	list, err := edits.Extract(plan.Overlay, a, folders)
	if err != nil || dryRun {
		return list, err
	}
	for _, e := range list {
		if err := filetree.Replace(filepath.Join(p.Root, filepath.FromSlash(e.File)), e.Text); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Patch returns the overlay as one commit on top of the upstream module, in
// the format of git format-patch.
func (p *Project) Patch(ctx context.Context, run command.RunFunc, opt output.PatchOptions) ([]byte, error) {
	plan, err := p.Plan(ctx)
	if err != nil {
		return nil, err
	}
	return output.Patch(ctx, run, plan, opt)
}

// Release writes the fork as module version into dir, as a folder that serves
// as a GOPROXY, and the adapters with it. A version that is there with another
// content is a problem.
func (p *Project) Release(ctx context.Context, dir, version string) (*output.Release, error) {
	if err := output.CheckVersion(p.Base, version); err != nil {
		return nil, err
	}
	plan, a, err := p.Assemble(ctx)
	if err != nil {
		return nil, err
	}
	advisories, err := p.ReadAdvisories()
	if err != nil {
		return nil, err
	}
	return output.Fork{Root: p.Root, Plan: plan, Tree: a.Tree, Advisories: advisories}.Release(dir, version)
}

// ReleaseVersion returns the version that the fork is released as: the base, a hyphen, and the patch level that the overlay names.
func (p *Project) ReleaseVersion(ctx context.Context) (string, error) {
	plan, err := p.Match(ctx)
	if err != nil {
		return "", err
	}
	return output.ReleaseVersion(plan)
}
