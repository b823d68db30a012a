package fork

import (
	"context"

	"golang.org/x/mod/semver"

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

// NewestRelease returns the highest version of upstream that is no pre-release.
func (p *Project) NewestRelease(ctx context.Context) (newest string, err error) {
	lock, err := p.ReadLock()
	if err != nil {
		return "", err
	}
	releases, err := p.Source.Versions(ctx, lock.Module)
	for _, release := range releases {
		if semver.Prerelease(release) == "" && semver.Compare(release, newest) > 0 {
			newest = release
		}
	}
	return newest, err
}
