// Package drift tells what another version of the module changed beneath an overlay.
package drift

import (
	"context"
	"fmt"

	"mongofork/tools/command"
	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
	"mongofork/tools/fork/upstream"
	"mongofork/tools/fork/uses"
)

// Class classifies the change of an upstream declaration in another version.
type Class string

// The classes of drift, from none to the worst.
const (
	Same    Class = "same"    // token for token, wherever it stands in its package
	Changed Class = "changed" // it says something else
	Moved   Class = "moved"   // another package has it
	Gone    Class = "gone"    // none has
)

// The relations of declarations that no directive names.
const (
	Used  = "use"
	Calls = "call"
)

// Row is the drift of one declaration.
type Row struct {
	// Subject is the declaration's key.
	Subject string
	// How is the directive's verb, or Used or Calls.
	How   string
	Class Class
	// Ours is "file:line" in the overlay, or the way from ours to what is used or calls it.
	Ours string
	// Was and Now are "file:line" in the two versions.
	Was string
	Now string
	// From and To are the packages of what has moved.
	From, To string
	// Diff shows upstream's change as a unified diff.
	Diff string
}

// NeedsReview reports whether the change has to be reviewed before the overlay can be used with the other version. What is only
// used and has moved as it was does not compile, which says so once.
func (r Row) NeedsReview() bool {
	return r.Class != Same && !(r.Class == Moved && r.Diff == "" && (r.How == Used || r.How == Calls))
}

// Report is the drift from a plan's version to another one.
type Report struct {
	Rows []Row
	// Misfits are what else keeps the overlay's files for the other version from being laid over it and compiled.
	Misfits problem.List
	// Uncompiled is whether they could not be laid over it, so that what the compiler would refuse is not among them.
	Uncompiled bool
}

// Compare compares the upstream declarations that a plan touches, and those that its fork uses, with those of another version of the
// module, and tries the overlay that is for that version.
func Compare(ctx context.Context, run command.RunFunc, p *plan.Plan, target *upstream.Module, overlay *plan.Overlay) (*Report, error) {
	tree, err := assemble.Build(p)
	if err != nil {
		return nil, err
	}
	fork, err := uses.Check(ctx, run, &upstream.Module{Path: p.Module.Path, Version: p.Module.Version, Tree: tree})
	if err != nil {
		return nil, err
	}
	if len(fork.Errors) > 0 {
		return nil, fmt.Errorf("the fork of %s does not compile: %s", p.Module.Version, fork.Errors[0].Message)
	}
	d := drifter{plan: p, target: target, report: &Report{}, gone: map[int]gone{}}
	d.touched()
	used, err := uses.Of(p, fork)
	if err != nil {
		return nil, err
	}
	for _, use := range used {
		d.used(use)
	}
	if d.err == nil {
		d.err = d.findTwins()
	}
	if d.err == nil {
		d.err = d.report.fit(ctx, run, target, overlay)
	}
	return d.report, d.err
}

type drifter struct {
	plan   *plan.Plan
	target *upstream.Module
	report *Report
	gone   map[int]gone // by the number of the row
	err    error        // the first one, from parsing the other version
}

func (d *drifter) add(row Row) { d.report.Rows = append(d.report.Rows, row) }

// touched compares what the overlay's directives name. Names that upstream now has are misfits.
func (d *drifter) touched() {
	for _, t := range d.plan.Touches {
		d.declaration(t.Key, string(t.How), at(t), []*syntax.Decl{t.Theirs}, d.lookup(t.Key))
	}
	for _, r := range d.plan.Removed {
		now := d.lookup(r.Key)
		if len(now) > 0 {
			now = d.must(d.target.LookupWhole(r.Key))
		}
		d.declaration(r.Key, string(syntax.Remove), r.At(), r.Theirs, now)
	}
}

// used compares a declaration that the fork uses.
func (d *drifter) used(use uses.Use) {
	how, way := Used, use.Way[0].String()
	if use.Calls {
		how = Calls
	}
	for i, key := range use.Way[1:] {
		way += map[bool]string{true: ", through ", false: ", "}[i == 0] + key.String()
	}
	d.declaration(use.Key, how, way, d.must(d.plan.Module.Lookup(use.Key)), d.lookup(use.Key))
}

func (d *drifter) lookup(key syntax.Key) []*syntax.Decl {
	return d.must(d.target.Lookup(key))
}

// must keeps an error for later.
func (d *drifter) must(found []*syntax.Decl, err error) []*syntax.Decl {
	if err != nil && d.err == nil {
		d.err = err
	}
	return found
}

// declaration classifies a declaration.
func (d *drifter) declaration(key syntax.Key, how, ours string, was, now []*syntax.Decl) {
	row := Row{Class: Same, Subject: key.String(), How: how, Ours: ours, Was: syntax.Places(was), Now: syntax.Places(now)}
	switch {
	case len(now) == 0:
		row.Class = Gone
		d.gone[len(d.report.Rows)] = gone{key, was}
	case syntax.FingerprintOf(was...) != syntax.FingerprintOf(now...):
		row.Class, row.Diff = Changed, difference(row.Was, was, row.Now, now)
	}
	d.add(row)
}

func difference(from string, was []*syntax.Decl, to string, now []*syntax.Decl) string {
	return filetree.Diff(from, texts(was), to, texts(now))
}

// at returns "file:line" of a directive.
func at(t plan.Touch) string { return fmt.Sprintf("%s:%d", t.Ours.File.Path, t.Ours.Line) }

// texts returns declarations with their comments, one after the other.
func texts(decls []*syntax.Decl) []byte {
	var out []byte
	for _, d := range decls {
		out = append(out, syntax.Text(d)...)
	}
	return out
}
