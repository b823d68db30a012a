// Package drift reports what another version of upstream's module changed that an overlay relies on.
package drift

import (
	"bytes"
	"context"
	"fmt"
	"path"

	"mongofork/tools/fork/filetree"
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

// Row is the drift of one declaration.
type Row struct {
	// Subject is the declaration.
	Subject syntax.Key
	// Ours is what the overlay does to it, and where, such as "wrap of pool/pool.go:3"; none if the fork has it as it is.
	Ours []string
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
// that the fork has as it is has only moved, what uses it does not compile, which is reported once.
func (r Row) NeedsReview() bool {
	return r.Class() != Same && (r.Class() != Moved || r.Ours != nil || r.changed())
}

// Report is the drift from a plan's version to another one.
type Report struct {
	Rows []Row
	// Added are what the other version has for the first time: see additions.
	Added []string
	// Misfits are all other reasons why the overlay's files for the other version cannot be laid over it or compiled.
	Misfits problem.List
	// Uncompiled is true if the files could not be laid over it, so that Misfits does not have what the compiler would find.
	Uncompiled bool
}

// Compare compares the declarations of upstream that a plan touches, and all others that are not of tests, with those of another version of
// the module, and tries the overlay that is for that version: //fork:base lines bring in files that no base has. Code that the overlay
// calls through two others, or through an interface, is among the others.
func Compare(ctx context.Context, p *plan.Plan, target *upstream.Module, overlay plan.Overlay) (*Report, error) {
	r := compare(p, target)
	return r, r.fit(ctx, target, overlay)
}

// compare compares the declarations.
func compare(p *plan.Plan, target *upstream.Module) *Report {
	r, touched := &Report{}, map[syntax.Key]int{}
	for _, t := range p.Touches {
		was := p.Theirs(t)
		if len(was) == 0 {
			continue
		}
		now := target.Lookup(t.Key)
		if t.How == syntax.Remove && len(now) > 0 {
			now = target.Whole(t.Key)
		}
		i, again := touched[t.Key]
		if !again {
			i, touched[t.Key] = len(r.Rows), len(r.Rows)
			r.Rows = append(r.Rows, Row{Subject: t.Key, Was: was, Now: now})
		}
		r.Rows[i].Ours = append(r.Rows[i].Ours, fmt.Sprintf("%s of %s", t.How, place(p, t)))
	}
	for _, d := range declarations(p.Module) {
		was, now := p.Module.Lookup(d.Key), target.Lookup(d.Key)
		if _, ours := touched[d.Key]; !ours && !isVersion(p.Module, was, target, now) {
			r.Rows = append(r.Rows, Row{Subject: d.Key, Was: was, Now: now})
		}
	}
	for i, row := range r.Rows {
		if len(row.Now) == 0 {
			r.Rows[i].Now = twin(p.Module, target, row.Subject)
		}
	}
	r.Added = additions(p.Module, target, r.Rows)
	return r
}

// declarations returns the first declaration of each name that a module has outside of tests, but for those that nothing can use.
func declarations(m *upstream.Module) (found []*syntax.Decl) {
	for _, folder := range m.Folders() {
		for _, file := range m.Files(folder) {
			for _, d := range file.Decls {
				if all := m.Lookup(d.Key); len(all) > 0 && all[0] == d && !file.IsTest() {
					found = append(found, d)
				}
			}
		}
	}
	return found
}

// place says where the overlay touches a declaration: the file of the repository, and the line of ours.
func place(p *plan.Plan, t plan.Touch) string {
	line := t.Line
	if t.Ours != nil {
		line = t.Ours.File.Line(t.Ours.Pos())
	}
	at := p.Overlay.At(problem.List{{File: t.File.Path}})
	return fmt.Sprintf("%s:%d", at[0].File, line)
}

// isVersion reports whether a declaration of the package version differs in the version of its module alone.
func isVersion(from *upstream.Module, was []*syntax.Decl, to *upstream.Module, now []*syntax.Decl) bool {
	renamed := bytes.ReplaceAll(texts(was), []byte(from.Version[1:]), []byte(to.Version[1:]))
	return was[0].Key.Package == "version" && from.Version != to.Version && bytes.Equal(renamed, texts(now))
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
