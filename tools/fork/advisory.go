package fork

import (
	"errors"
	"io/fs"
	"slices"

	"mongofork/tools/fork/syntax"
	"mongofork/tools/strict"
)

// advisoriesFile lists the known advisories and security fixes of upstream.
const advisoriesFile = "etc/advisories.yaml"

// Advisory is a published vulnerability of upstream, or an upstream fix without an advisory.
type Advisory struct {
	// ID is the advisory's ID, the fix's ticket, or a short name. Impact says what an attacker can do, or what goes wrong, Fixed which
	// of upstream's versions have a fix.
	ID, Title, Impact, Fixed string
	// Aliases are the names of other databases, such as GO-2026-1234, by which scanners report it.
	Aliases []string
	// Affected holds the ranges of upstream's versions that have the defect, in the terms of //fork:base.
	Affected []syntax.BaseRange
	// Mended says how the fork fixes what upstream did not; nil if it does not. By are the keys of declarations that the overlay
	// touches or adds, Tests those of test functions that fail without them.
	Mended *struct{ By, Tests []string }
	// Accepted says, by base, why the fork may be built and handed out although the advisory is open.
	Accepted map[string]string
}

// Affects reports whether a version of upstream has the defect.
func (a Advisory) Affects(version string) bool {
	return slices.ContainsFunc(a.Affected, func(r syntax.BaseRange) bool { return r.Holds(version) })
}

// Advisories reads the repository's list, in the order of the file; a repository without one knows none.
func (p *Project) Advisories() (list []Advisory, err error) {
	if err = strict.Read(p.file(advisoriesFile), &list); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return list, err
}
