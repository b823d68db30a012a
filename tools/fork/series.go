package fork

import (
	"context"

	"mongofork/tools/command"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/series"
)

// SeriesPatches returns the cover letter and the patches, in order, each in the format of git format-patch, and the tree that they
// lead to.
func (p *Project) SeriesPatches(ctx context.Context, run command.RunFunc, author string) ([]series.Patch, filetree.Tree, error) {
	s, err := p.series(ctx)
	if err != nil {
		return nil, nil, err
	}
	return s.Patches(ctx, run, author)
}

// VerifySeries applies the series to upstream's tree, one patch after another as git am does, and checks the tree after each.
func (p *Project) VerifySeries(ctx context.Context, run command.RunFunc, c series.Check) (series.Verified, error) {
	s, err := p.series(ctx)
	if err != nil {
		return series.Verified{}, err
	}
	return s.Verify(ctx, run, c)
}

// series reads the steps and finds each part of the overlay in one of them.
func (p *Project) series(ctx context.Context) (*series.Series, error) {
	plan, err := p.Plan(ctx)
	if err != nil {
		return nil, err
	}
	return series.New(p.Root, plan)
}
