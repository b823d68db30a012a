package advisory

import (
	"fmt"
	"slices"
	"strings"

	"mongofork/tools/fork/problem"
)

// Count returns how many advisories are in each state for a version.
func (as List) Count(version string) map[State]int {
	n := map[State]int{}
	for _, a := range as {
		n[a.State(version)]++
	}
	return n
}

// Summary summarizes in a line the advisories' states for a version.
func (as List) Summary(version string) string {
	n := as.Count(version)
	text := fmt.Sprintf("advisories: %d known, %d fixed by upstream, %d by the fork, %d open", len(as), n[MendedUpstream], n[MendedHere], n[Open])
	if ids := as.open(version); len(ids) > 0 {
		text += ": " + strings.Join(ids, ", ")
	}
	return text
}

// open returns the IDs of those that are open for a version.
func (as List) open(version string) []string {
	var ids []string
	for _, a := range as {
		if a.State(version) == Open {
			ids = append(ids, a.ID)
		}
	}
	return ids
}

// Affecting returns the IDs of those that upstream's own release of that version has.
func (as List) Affecting(version string) []string {
	var ids []string
	for _, a := range as {
		if a.State(version) != MendedUpstream {
			ids = append(ids, a.ID)
		}
	}
	return ids
}

// RefuseOpen returns Problems if a version has open advisories other than those with the given IDs, and for IDs that are not open,
// so that a permission does not outlive its cause. Those that the list accepts keep a fork from being handed out only.
func (as List) RefuseOpen(version string, allowed []string, handedOut bool) error {
	var ps problem.List
	open := as.open(version)
	for _, a := range as {
		_, accepted := a.Accepted[version]
		if slices.Contains(open, a.ID) && !slices.Contains(allowed, a.ID) && (handedOut || !accepted) {
			ps.Add(File, a.line, "correct it in the overlay, or take another base; --allow-open "+a.ID+" takes it nevertheless",
				"advisory %s is open on %s: %s", a.ID, version, a.Title)
		}
	}
	for _, id := range allowed {
		if !slices.Contains(open, id) {
			ps.Add(File, 0, "leave --allow-open "+id+" out", "advisory %s is not open on %s", id, version)
		}
	}
	return ps.OrNil()
}
