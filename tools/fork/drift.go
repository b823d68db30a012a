package fork

import (
	"context"

	"mongofork/tools/fork/drift"
)

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
