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
	// Affected holds the ranges of upstream's versions that have the defect, in the terms of //fork:base.
	Affected []affected
	// Mended says how the fork fixes what upstream did not; nil if it does not. By are the keys of declarations that the overlay
	// touches or adds, Tests those of test functions that fail without them.
	Mended *struct{ By, Tests []string }
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
	}
	return Open
}

// List are the known advisories, in the order of the file.
type List []Advisory

// Read reads a repository's list; a repository without one knows none.
func Read(root string) (list List, err error) {
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(File)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(&list); err != nil && !errors.Is(err, io.EOF) {
		return nil, problem.List{{File: File, Message: err.Error(), Mend: "correct the line that the message names"}}
	}
	for _, a := range list {
		m := a.Mended
		if slices.Contains([]string{a.ID, a.Title, a.Impact, a.Fixed}, "") || len(a.Affected) == 0 ||
			m != nil && (len(m.By) == 0 || len(m.Tests) == 0) {
			return nil, problem.List{{File: File, Message: fmt.Sprintf("advisory %s is incomplete", a.ID), Mend: "give it an id, " +
				"a title, what is affected, the impact, what is fixed, and, if it is mended, by what and by which tests that is shown"}}
		}
	}
	return list, nil
}

// Check returns what the overlay lacks of what the advisories say of the plan's base, and the open ones, other than the accepted.
func (as List) Check(plan *plan.Plan) problem.List {
	var ps problem.List
	ours, base := map[string]bool{}, plan.Module.Version
	for _, t := range plan.Touches {
		ours[t.Key.String()] = true
	}
	for _, d := range plan.Added {
		ours[d.Key.String()] = true
	}
	for _, a := range as {
		switch state := a.State(base); {
		case state == Open && a.Accepted[base] == "":
			ps.Add(File, 0, "correct it in the overlay, take another base, or say under accepted why the fork may have it",
				"advisory %s is open on %s: %s", a.ID, base, a.Title)
		case state == MendedHere:
			for _, key := range slices.Concat(a.Mended.By, a.Mended.Tests) {
				if !ours[key] {
					ps.Add(File, 0, "name what fixes it, and its test, as 'folder Name'",
						"advisory %s: the overlay neither touches nor adds %s on %s", a.ID, key, base)
				}
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
	return strings.TrimSuffix(fmt.Sprintf("advisories: %d known, %d fixed by upstream, %d by the fork, %d open: %s",
		len(as), count[MendedUpstream], count[MendedHere], len(open), strings.Join(open, ", ")), ": ")
}
