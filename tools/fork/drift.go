package fork

import (
	"context"

	"mongofork/tools/fork/drift"
	"mongofork/tools/fork/series"
	"mongofork/tools/fork/upstream"
)

// Drift compares the overlay's upstream declarations with those of another
// version, or of what another source has in its place. The overlay itself is
// read as for the project's base.
func (p *Project) Drift(ctx context.Context, other upstream.Source, version string) ([]drift.Row, error) {
	plan, err := p.Match(ctx)
	if err != nil {
		return nil, err
	}
	target, err := other.Module(ctx, plan.Module.Path, version)
	if err != nil {
		return nil, err
	}
	steps, err := series.NewFinder(p.Root, plan)
	if err != nil {
		return nil, err
	}
	return drift.Compare(plan, target, steps)
}
