package fork

import (
	"context"
	"fmt"

	"golang.org/x/mod/semver"
)

// SurveyRow says how an upstream release changed what the overlay depends on.
type SurveyRow struct {
	Version string
	// Base is the base that it was compared with: the highest that is not above it.
	Base string
	// Newest is whether this release is above all bases.
	Newest bool
	// Review counts the declarations and names to review, of Total.
	Review int
	Total  int
}

// Locked reports whether the release is a base itself.
func (r SurveyRow) Locked() bool { return r.Version == r.Base }

// Survey compares each release of upstream, from the lowest base on, with the
// nearest base below it.
func (p *Project) Survey(ctx context.Context) ([]SurveyRow, error) {
	bases, err := p.Bases()
	if err != nil {
		return nil, err
	}
	lock, err := p.ReadLock()
	if err != nil {
		return nil, err
	}
	releases, err := p.Source.Versions(ctx, lock.Module)
	if err != nil {
		return nil, err
	}
	semver.Sort(releases)
	var rows []SurveyRow
	for _, release := range releases {
		if semver.Prerelease(release) != "" || semver.Compare(release, bases[0]) < 0 {
			continue
		}
		row, err := p.survey(ctx, bases, release)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func (p *Project) survey(ctx context.Context, bases []string, release string) (SurveyRow, error) {
	row := SurveyRow{Version: release}
	for _, base := range bases {
		if semver.Compare(base, release) <= 0 {
			row.Base = base
		}
	}
	row.Newest = semver.Compare(bases[len(bases)-1], release) < 0
	onBase := &Project{Root: p.Root, Base: row.Base, Source: p.Source}
	rows, err := onBase.Drift(ctx, release)
	if err != nil {
		return SurveyRow{}, fmt.Errorf("drift from %s to %s: %w", row.Base, release, err)
	}
	row.Total = len(rows)
	for _, d := range rows {
		if d.Class.NeedsReview() {
			row.Review++
		}
	}
	return row, nil
}
