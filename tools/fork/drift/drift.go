// Package drift reports what another version of upstream's module changed that an overlay relies on.
package drift

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"

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

// Row is the drift of one declaration.
type Row struct {
	// Subject is the declaration.
	Subject syntax.Key
	// Ours is what the overlay does to it, and where, such as "wrap of pool/pool.go:3"; empty if the fork has it as it is.
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
// that the fork has as it is has only moved, what uses it does not compile, which is reported once.
func (r Row) NeedsReview() bool {
	return r.Class() != Same && (r.Class() != Moved || r.Ours != "" || r.changed())
}

// Report is the drift from a plan's version to another one.
type Report struct {
	Rows []Row
	// Misfits are all other reasons why the overlay's files for the other version cannot be laid over it or compiled.
	Misfits problem.List
	// Uncompiled is true if the files could not be laid over it, so that Misfits does not have what the compiler would find.
	Uncompiled bool
}

// Compare compares the declarations of upstream that a plan touches, and all others that are not of tests, with those of another version of
// the module, and tries the overlay that is for that version: //fork:base lines bring in files that no base has. Code that the overlay
// calls through two others, or through an interface, is among the others.
func Compare(ctx context.Context, p *plan.Plan, target *upstream.Module, overlay plan.Overlay) (*Report, error) {
	r, touched := &Report{}, map[syntax.Key]bool{}
	for _, t := range p.Touches {
		was := p.Theirs(t)
		if len(was) == 0 {
			continue
		}
		now := target.Lookup(t.Key)
		if t.How == syntax.Remove && len(now) > 0 {
			now = target.Whole(t.Key)
		}
		touched[t.Key] = true
		ours := fmt.Sprintf("%s of %s:%d", t.How, t.File.Path, t.Line)
		r.Rows = append(r.Rows, Row{Subject: t.Key, Ours: ours, Was: was, Now: now})
	}
	for _, folder := range p.Module.Folders() {
		for _, file := range p.Module.Files(folder) {
			for _, d := range file.Decls {
				was := p.Module.Lookup(d.Key) // none if nothing can use it
				if len(was) > 0 && was[0] == d && !touched[d.Key] && !file.IsTest() {
					r.Rows = append(r.Rows, Row{Subject: d.Key, Was: was, Now: target.Lookup(d.Key)})
				}
			}
		}
	}
	for i, row := range r.Rows {
		if len(row.Now) == 0 {
			r.Rows[i].Now = twin(p.Module, target, row.Subject)
		}
	}
	return r, r.fit(ctx, target, overlay)
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

const loaded = packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedTypes | packages.NeedSyntax

// fit lays the overlay's files that are for another version over it, and type-checks the result without its tests, for Linux without cgo,
// so that the report is the same on every machine. The go command downloads the modules that it requires.
func (r *Report) fit(ctx context.Context, target *upstream.Module, overlay plan.Overlay) error {
	_, tree, problems, err := layer.Lay(target, overlay)
	if err != nil || len(problems) > 0 {
		r.Misfits, r.Uncompiled = problems, true
		return err
	}
	dir, err := os.MkdirTemp("", "mongofork-drift-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := tree.Write(dir); err != nil {
		return err
	}
	list, err := packages.Load(&packages.Config{Context: ctx, Dir: dir, Mode: loaded, Env: append(os.Environ(),
		"GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-mod=mod")}, "./...")
	for _, pkg := range list {
		for _, mistake := range pkg.Errors {
			at := strings.TrimPrefix(filepath.ToSlash(mistake.Pos), filepath.ToSlash(dir)+"/")
			r.Misfits.Add(at, 0, "", "%s", mistake.Msg)
		}
	}
	return err
}
