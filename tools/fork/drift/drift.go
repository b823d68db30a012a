// Package drift reports what another version of upstream's module changed that an overlay relies on.
package drift

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/layer"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
	"mongofork/tools/fork/upstream"
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

// Used is the relation of declarations that no directive names.
const Used = "use"

// Row is the drift of one declaration.
type Row struct {
	// Subject is the declaration.
	Subject syntax.Key
	// How is the directive's verb, or Used.
	How string
	// Ours is "file:line" in the overlay or, for a declaration that is only used, the chain of uses from our code to it.
	Ours string
	// Was and Now are the texts of the two versions that are compared. If a declaration has moved, Now is in another package.
	Was, Now []*syntax.Decl
}

// Class classifies the change.
func (r Row) Class() Class {
	switch {
	case len(r.Now) == 0:
		return Gone
	case r.Now[0].Key.Package != r.Subject.Package:
		return Moved
	case r.changed():
		return Changed
	}
	return Same
}

func (r Row) changed() bool { return syntax.Fingerprint(r.Was...) != syntax.Fingerprint(r.Now...) }

// Diff shows upstream's change as a unified diff; empty if there is none, or only what has gone.
func (r Row) Diff() string {
	if len(r.Now) == 0 || !r.changed() {
		return ""
	}
	return filetree.Diff(syntax.Places(r.Was), texts(r.Was), syntax.Places(r.Now), texts(r.Now))
}

// NeedsReview reports whether somebody has to review the change before the overlay can be used with the other version. If a declaration
// that is only used has moved, the overlay does not compile, which is reported once.
func (r Row) NeedsReview() bool {
	return r.Class() != Same && (r.Class() != Moved || r.How != Used || r.changed())
}

// Report is the drift from a plan's version to another one.
type Report struct {
	Rows []Row
	// Misfits are all other reasons why the overlay's files for the other version cannot be laid over it or compiled.
	Misfits problem.List
	// Uncompiled is true if the files could not be laid over it, so that Misfits does not have what the compiler would find.
	Uncompiled bool
}

// Compare compares the upstream declarations that a plan touches, and those that its fork uses, with those of another version of the
// module, and tries the overlay that is for that version: //fork:base lines bring in files that no base has.
func Compare(ctx context.Context, p *plan.Plan, target *upstream.Module, overlay *plan.Overlay) (*Report, error) {
	fork, err := compile(ctx, p)
	if err == nil {
		err = fork.refused.OrNil()
	}
	if err != nil {
		return nil, fmt.Errorf("the fork of %s does not compile: %w", p.Module.Version, err)
	}
	r := &Report{}
	for _, t := range p.Touches {
		was := p.Theirs(t)
		if len(was) == 0 {
			continue
		}
		now := target.Lookup(t.Key)
		if t.How == syntax.Remove && len(now) > 0 {
			now = target.Package(path.Dir(t.File.Path)).Whole(t.Key)
		}
		r.Rows = append(r.Rows, Row{Subject: t.Key, How: string(t.How), Ours: t.At(), Was: was, Now: now})
	}
	for _, use := range usesOf(p, fork) {
		use.Was, use.Now = p.Module.Lookup(use.Subject), target.Lookup(use.Subject)
		r.Rows = append(r.Rows, use)
	}
	for i, row := range r.Rows {
		if len(row.Now) == 0 {
			r.Rows[i].Now = twin(p.Module, target, row.Subject)
		}
	}
	return r, r.fit(ctx, target, overlay)
}

// compile lays a plan's overlay over its module and type-checks the result.
func compile(ctx context.Context, p *plan.Plan) (*program, error) {
	_, tree, problems, err := layer.Lay(p.Module, p.Overlay)
	if err = cmp.Or(err, problems.OrNil()); err != nil {
		return nil, err
	}
	fork, err := p.Module.With(tree)
	if err != nil {
		return nil, err
	}
	return load(ctx, fork)
}

// twin looks for the package to which a declaration has moved: one that had no declaration of this name. If there are several, it takes one
// in a folder of the same name.
func twin(from, to *upstream.Module, key syntax.Key) (twins []*syntax.Decl) {
	for _, folder := range to.Folders() {
		there := syntax.Key{Package: folder, Name: key.Name}
		if now := to.Lookup(there); len(now) > 0 && len(from.Lookup(there)) == 0 &&
			(twins == nil || path.Base(folder) == path.Base(key.Package)) {
			twins = now
		}
	}
	return twins
}

// texts returns declarations with their comments, one after the other.
func texts(decls []*syntax.Decl) (out []byte) {
	for _, d := range decls {
		start, end := d.Extent()
		out = append(append(out, d.File.Src[start:end]...), '\n')
	}
	return out
}

// fit lays the overlay's files that are for another version over it, and compiles the result.
func (r *Report) fit(ctx context.Context, target *upstream.Module, overlay *plan.Overlay) error {
	var problems problem.List
	fork, err := compile(ctx, &plan.Plan{Module: target, Overlay: overlay})
	if !errors.As(err, &problems) {
		if err == nil {
			r.Misfits = fork.refused
		}
		return err
	}
	r.Misfits, r.Uncompiled = problems, true
	return nil
}

// usesOf returns the declarations of upstream that a plan's fork uses and does not touch, nearest first: those that the overlay uses, those
// that wrapped or extended declarations use, and those that these use in turn.
func usesOf(p *plan.Plan, fork *program) (found []Row) {
	overlay := map[string]bool{} // files
	for _, f := range p.Overlay.Files {
		overlay[f.Path] = true
	}
	touched := map[syntax.Key]syntax.Key{} // by the key in the fork
	for _, t := range p.Touches {
		touched[t.Key] = t.Key
		if t.How == syntax.Wrap {
			touched[plan.WrappedKey(t)] = t.Key
		}
	}
	ways := map[*syntax.Decl]string{} // to a declaration of the fork and past it
	var next []*syntax.Decl
	for _, d := range fork.decls {
		theirs, touches := touched[d.Key]
		if !touches {
			theirs = d.Key
		}
		if touches || overlay[d.File.Path] {
			next, ways[d] = append(next, d), theirs.String()
		}
	}
	for ; len(next) > 0; next = next[1:] {
		for _, used := range fork.uses[next[0]] {
			if ways[used] == "" {
				found = append(found, Row{Subject: used.Key, How: Used, Ours: ways[next[0]]})
				next, ways[used] = append(next, used), ways[next[0]]+", through "+used.Key.String()
			}
		}
	}
	return found
}
