// Package advisory knows upstream's published vulnerabilities, and whether upstream or the fork fixed them in a version.
package advisory

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
)

// File lists the known advisories and security fixes of upstream.
const File = "etc/advisories.yaml"

// Advisory is a published vulnerability of upstream, or an upstream fix without an advisory.
type Advisory struct {
	// ID is the advisory's ID, the fix's ticket, or a short name. Impact says what an attacker can do, or what goes wrong, Fixed which
	// of upstream's versions have a fix.
	ID, Title, Impact, Fixed string
	// Aliases are the names of other databases, such as GO-2026-1234, by which scanners report it.
	Aliases []string
	// Affected holds the ranges of upstream's versions that have the defect. A version is affected if it is in one of them; the
	// terms of a range are those of //fork:base.
	Affected []affected
	// Mended says how the fork fixes what upstream did not; nil if it does not.
	Mended *Mending
	// Accepted says, by base, why the fork may be built and handed out although the advisory is open.
	Accepted map[string]string
}

// affected is a range of versions.
type affected struct{ syntax.BaseRange }

// UnmarshalYAML implements yaml.Unmarshaler.
func (a *affected) UnmarshalYAML(node *yaml.Node) (err error) {
	a.BaseRange, err = syntax.ParseBaseRange(strings.Fields(node.Value))
	return err
}

// Mending names the parts of the overlay that fix a defect.
type Mending struct {
	// By are the keys of declarations that the overlay touches or adds, Tests those of test functions that fail without them.
	By, Tests []string
}

// State is the state of a base with regard to an advisory.
type State string

// The states of an advisory.
const (
	MendedUpstream State = "upstream" // the base does not have the defect
	MendedHere     State = "fork"     // the base has it, the overlay fixes it
	Open           State = "open"     // neither
)

// State returns the advisory's state for a version of upstream.
func (a Advisory) State(version string) State {
	switch {
	case !slices.ContainsFunc(a.Affected, func(r affected) bool { return r.Holds(version) }):
		return MendedUpstream
	case a.Mended != nil:
		return MendedHere
	default:
		return Open
	}
}

// List are the known advisories, in the order of the file.
type List []Advisory

// Read reads a repository's list; a repository without one knows none.
func Read(root string) (List, error) {
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(File)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return Parse(data)
}

// Parse reads a list of advisories.
func Parse(data []byte) (List, error) {
	var list List
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(&list); err != nil && !errors.Is(err, io.EOF) {
		return nil, problem.List{{File: File, Message: "the list cannot be read: " + err.Error(),
			Mend: "correct the line that the message names"}}
	}
	var problems problem.List
	seen := map[string]bool{}
	for _, a := range list {
		for _, lack := range a.lacks() {
			problems.Add(File, 0, "complete the entry", "advisory %s: %s", a.ID, lack)
		}
		if seen[a.ID] {
			problems.Add(File, 0, "keep one of them", "advisory %s is listed twice", a.ID)
		}
		seen[a.ID] = true
	}
	return list, problems.OrNil()
}

// lacks returns what is missing or wrong.
func (a Advisory) lacks() (lacks []string) {
	if slices.Contains([]string{a.ID, a.Title, a.Impact, a.Fixed}, "") || len(a.Affected) == 0 {
		lacks = append(lacks, "want an id, a title, what is affected, the impact, and what is fixed")
	}
	if m := a.Mended; m != nil && (len(m.By) == 0 || len(m.Tests) == 0) {
		lacks = append(lacks, "mended: want at least one declaration in by and one in tests")
	}
	for base, reason := range a.Accepted {
		if a.State(base) != Open || strings.TrimSpace(reason) == "" {
			lacks = append(lacks, "accepted on "+base+": want a reason, and a base on which it is open")
		}
	}
	return lacks
}

// Check compares what the advisories say of the plan's base with the overlay.
func (as List) Check(plan *plan.Plan) problem.List {
	var ps problem.List
	ours := map[syntax.Key]bool{}
	for _, t := range plan.Touches {
		ours[t.Key] = true
	}
	for _, d := range plan.Added {
		ours[d.Key] = true
	}
	for _, a := range as {
		if a.State(plan.Module.Version) != MendedHere {
			continue
		}
		for _, s := range slices.Concat(a.Mended.By, a.Mended.Tests) {
			key, err := syntax.ParseKey(s)
			if err != nil {
				ps.Add(File, 0, "correct the key", "advisory %s: %v", a.ID, err)
			} else if !ours[key] {
				ps.Add(File, 0, "name what fixes it",
					"advisory %s: the overlay neither touches nor adds %s on %s", a.ID, key, plan.Module.Version)
			}
			if slices.Contains(a.Mended.Tests, s) && !syntax.IsTestName(key.Name) {
				ps.Add(File, 0, "name a function Test… or Fuzz…", "advisory %s: %s is not a test", a.ID, key)
			}
		}
	}
	return ps
}

// Summary summarizes in a line the advisories' states for a version.
func (as List) Summary(version string) string {
	count := map[State]int{}
	var open []string
	for _, a := range as {
		state := a.State(version)
		if count[state]++; state == Open {
			open = append(open, a.ID)
		}
	}
	text := fmt.Sprintf("advisories: %d known, %d fixed by upstream, %d by the fork, %d open",
		len(as), count[MendedUpstream], count[MendedHere], len(open))
	if len(open) > 0 {
		text += ": " + strings.Join(open, ", ")
	}
	return text
}

// RefuseOpen returns Problems if a version has open advisories, other than the accepted ones.
func (as List) RefuseOpen(version string) error {
	var ps problem.List
	for _, a := range as {
		if a.State(version) == Open && a.Accepted[version] == "" {
			ps.Add(File, 0, "correct it in the overlay, take another base, or say under accepted why the fork may have it",
				"advisory %s is open on %s: %s", a.ID, version, a.Title)
		}
	}
	return ps.OrNil()
}
