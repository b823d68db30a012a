// Package drift tells what another version of the module changed beneath an overlay.
package drift

import (
	"fmt"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/syntax"
	"mongofork/tools/fork/upstream"
)

// Class classifies the change of an upstream declaration in another version.
type Class string

// The classes of drift, from none to the worst.
const (
	Same     Class = "same"     // token for token, wherever it stands
	Changed  Class = "changed"  // it says something else
	Gone     Class = "gone"     // the package does not declare it any more
	Collides Class = "collides" // upstream now has a name that is ours
)

// NeedsReview reports whether the change has to be reviewed before the overlay
// can be used with the other version.
func (c Class) NeedsReview() bool { return c != Same }

// Row is the drift of one declaration or file of the overlay.
type Row struct {
	// Subject is the declaration's key, or the path of an overlay file.
	Subject string
	// How is the directive's verb, or "add".
	How   string
	Class Class
	// Ours, Was and Now are "file:line" in the overlay and in the two versions.
	Ours string
	Was  string
	Now  string
	// Diff shows upstream's change as a unified diff.
	Diff string
}

// Compare compares the upstream declarations of a plan with those of
// another version of the module.
func Compare(plan *plan.Plan, target *upstream.Module) ([]Row, error) {
	d := drifter{plan: plan, target: target}
	for _, t := range plan.Touches {
		d.declaration(t.Key, t.How, t.Ours.At(), []*syntax.Decl{t.Theirs})
		d.newNames(t)
	}
	for _, n := range plan.Named {
		d.declaration(n.Key, n.How, n.At(), n.Theirs)
	}
	for _, a := range plan.Added {
		if !a.Unnamed() {
			d.collision(a.Key.String(), "add", a.At(), d.lookup(a.Key))
		}
	}
	for _, f := range plan.Overlay.Files {
		if _, taken := target.Tree[f.Path]; taken {
			d.add(Row{Subject: f.Path, How: "add", Class: Collides, Ours: f.Path, Now: f.Path})
		}
	}
	return d.rows, d.err
}

type drifter struct {
	plan   *plan.Plan
	target *upstream.Module
	rows   []Row
	err    error // the first one, from parsing the other version
}

func (d *drifter) add(row Row) { d.rows = append(d.rows, row) }

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

// declaration classifies one touched or watched declaration.
func (d *drifter) declaration(key syntax.Key, how syntax.Verb, ours string, was []*syntax.Decl) {
	now := d.lookup(key)
	if how == syntax.Remove && len(now) > 0 {
		now = d.must(d.target.LookupWhole(key))
	}
	row := Row{Class: Same, Subject: key.String(), How: string(how), Ours: ours, Was: syntax.Places(was), Now: syntax.Places(now)}
	switch {
	case len(now) == 0:
		row.Class = Gone
	case syntax.FingerprintOf(was...) != syntax.FingerprintOf(now...):
		row.Class, row.Diff = Changed, filetree.Diff(row.Was, texts(was), row.Now, texts(now))
	}
	d.add(row)
}

// newNames checks the names that a directive adds: those of wrapped
// declarations and of added fields.
func (d *drifter) newNames(t plan.Touch) {
	switch t.How {
	case syntax.Wrap:
		key := plan.WrappedKey(t)
		d.collision(key.String(), string(syntax.Wrap), t.Ours.At(), d.lookup(key))
	case syntax.Extend:
		for _, now := range d.lookup(t.Key) {
			for _, name := range plan.CommonFields(t.Ours.Decl, now) {
				d.collision(fmt.Sprintf("%s.%s", t.Key, name), string(syntax.Extend), t.Ours.At(), []*syntax.Decl{now})
			}
		}
	}
}

func (d *drifter) collision(subject, how, ours string, now []*syntax.Decl) {
	if len(now) > 0 {
		d.add(Row{Subject: subject, How: how, Class: Collides, Ours: ours, Now: syntax.Places(now)})
	}
}

// texts returns declarations with their comments, one after the other.
func texts(decls []*syntax.Decl) []byte {
	var out []byte
	for _, d := range decls {
		out = append(out, syntax.Text(d)...)
	}
	return out
}
