package fork

import (
	"context"
	"errors"

	"mongofork/tools/command"
	"mongofork/tools/fork/advisory"
	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/drift"
	"mongofork/tools/fork/git"
	"mongofork/tools/fork/output"
	"mongofork/tools/fork/plan"
)

// Level returns how the fork calls itself. What is released for good has the level that the overlay names, everything else that is not
// tagged as released the commit in its name.
func (p *Project) Level(ctx context.Context, final bool) (string, error) {
	plan, err := p.Match(ctx)
	if err != nil {
		return "", err
	}
	level, _, err := p.level(ctx, plan, final)
	return level, err
}

func (p *Project) level(ctx context.Context, of *plan.Plan, final bool) (string, git.State, error) {
	folders, err := plan.ReadFolders(p.Root)
	if err != nil {
		return "", git.State{}, err
	}
	folders = append(folders, "etc/overlay", "etc/module", "contrib", "tools/fork/assemble")
	return output.Level(of, func(tag string) (s git.State, err error) {
		if p.State != nil {
			s, err = p.State(ctx, p.Root, tag, folders)
		}
		s.Tagged = s.Tagged || final || p.State == nil
		return s, err
	})
}

// Fork returns the fork as it is handed to applications, and when its sources became what they are: what the overlay makes of the
// base, with its name, as far as the overlay has one, and notices.
func (p *Project) Fork(ctx context.Context, final bool) (f output.Fork, err error) {
	plan, a, err := p.Assemble(ctx)
	if err != nil {
		return f, err
	}
	level, state, err := p.level(ctx, plan, final)
	if err != nil && !errors.Is(err, output.ErrUnnamed) {
		return f, err
	}
	f = output.Fork{Plan: plan, Level: level, Time: state.Time, Tree: output.Named(assemble.Noticed(plan.Module.Tree, a), level)}
	return f, output.Described(p.Root, f)
}

// Release adds the fork to a folder that serves as a GOPROXY, and the adapters with it, for good if it is final.
func (p *Project) Release(ctx context.Context, dir string, final bool) (*output.Release, error) {
	fork, err := p.Fork(ctx, final)
	if err != nil {
		return nil, err
	}
	advisories, err := advisory.Read(p.Root)
	if err != nil {
		return nil, err
	}
	return output.WriteRelease(p.Root, fork, advisories, dir, final)
}

// Drift compares what the overlay for the project's base touches and uses of upstream's with another version, and tries the overlay
// that is for that one.
func (p *Project) Drift(ctx context.Context, run command.RunFunc, version string) (*drift.Report, error) {
	plan, err := p.Match(ctx)
	if err != nil {
		return nil, err
	}
	target, err := p.Source.Module(ctx, plan.Module.Path, version)
	if err != nil {
		return nil, err
	}
	there := Project{Root: p.Root, Base: version}
	overlay, problems, err := there.overlay()
	if err != nil {
		return nil, err
	}
	report, err := drift.Compare(ctx, run, plan, target, overlay)
	if err != nil {
		return nil, err
	}
	report.Misfits = append(report.Misfits, problems...)
	return report, nil
}
