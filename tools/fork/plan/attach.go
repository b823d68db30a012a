package plan

import (
	"go/ast"
	"go/token"

	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
)

// directiveReader attaches the directives of a file to its declarations.
type directiveReader struct {
	file   *File
	ps     *problem.List
	failed bool
	rng    syntax.BaseRange
	docs   map[*ast.CommentGroup][]*Decl
}

func (r *directiveReader) read() syntax.BaseRange {
	r.docs = map[*ast.CommentGroup][]*Decl{}
	src := r.file.Source
	for _, d := range src.Decls {
		od := &Decl{Decl: d, Line: src.Line(d.Pos())}
		r.file.Decls = append(r.file.Decls, od)
		for _, doc := range d.Docs() {
			r.docs[doc] = append(r.docs[doc], od)
		}
		if d.Grouped() && d.Gen.Doc != nil {
			r.docs[d.Gen.Doc] = append(r.docs[d.Gen.Doc], od) // refused by attach
		}
	}
	for _, group := range src.AST.Comments {
		for _, c := range group.List {
			d, ok, err := syntax.ParseDirective(c.Text)
			if !ok {
				continue
			}
			if err != nil {
				r.markUnclear(r.docs[group])
				r.fail(c, "write the directive as docs/builder.md says", "%v", err)
				continue
			}
			r.place(d, c, group)
		}
	}
	return r.rng
}

func (r *directiveReader) fail(c *ast.Comment, mend, format string, args ...any) {
	r.failed = true
	r.ps.Add(r.file.Path, r.file.Source.Line(c.Pos()), mend, format, args...)
}

// markUnclear marks declarations whose directive is refused.
func (r *directiveReader) markUnclear(decls []*Decl) {
	for _, d := range decls {
		d.unclear = true
	}
}

// following returns the first declaration after pos.
func (r *directiveReader) following(pos token.Pos) []*Decl {
	for i, d := range r.file.Decls {
		if d.Pos() > pos {
			return r.file.Decls[i : i+1]
		}
	}
	return nil
}

// place decides what a directive belongs to by where it stands.
func (r *directiveReader) place(d syntax.Directive, c *ast.Comment, group *ast.CommentGroup) {
	src := r.file.Source
	decls := r.docs[group]
	switch {
	case d.Verb == syntax.Base && c.Pos() > src.AST.Package:
		r.fail(c, "move it above the package clause", "//fork:base is after the package clause")
	case d.Verb == syntax.Base && r.rng != nil:
		r.fail(c, "join the terms on one line", "a second //fork:base")
	case d.Verb == syntax.Base:
		r.rng = d.Range
	case c.Pos() < src.AST.Package:
		r.fail(c, "move it to the declaration that it is about", "//fork:%s is before the package clause", d.Verb)
	case decls == nil && r.inside(c.Pos()):
		r.fail(c, "move it to the doc comment of a package-level declaration", "//fork:%s is inside a declaration", d.Verb)
	case d.Verb == syntax.Watch:
		for _, target := range d.Targets {
			r.file.Watches = append(r.file.Watches, Watched{Target: target, File: src, Line: src.Line(c.Pos())})
		}
	case d.Verb == syntax.Remove:
		r.file.Removals = append(r.file.Removals, Removal{Watched{Target: d.Targets[0], File: src, Line: src.Line(c.Pos())}, d.Reason})
	case decls == nil:
		r.markUnclear(r.following(c.Pos()))
		r.fail(c, "put it directly above the declaration, without a blank line between", "//fork:%s is detached from any declaration", d.Verb)
	default:
		r.attach(d, c, decls)
	}
}

// attach gives a directive to the one declaration that it documents.
func (r *directiveReader) attach(d syntax.Directive, c *ast.Comment, decls []*Decl) {
	target := decls[0]
	name := target.Key.Name
	switch {
	case target.Shared > 1:
		r.fail(c, "declare each name on its own", "//fork:%s %s: the line declares %d names", d.Verb, name, target.Shared)
	case target.Grouped():
		r.fail(c, "take the declaration out of the parentheses", "//fork:%s %s: the declaration shares its parentheses with others", d.Verb, name)
	case target.Unnamed():
		r.fail(c, "give the declaration a name", "//fork:%s %s: nothing can be found by this name", d.Verb, name)
	case target.Directive != nil:
		r.fail(c, "keep one of them", "//fork:%s %s: the declaration already has //fork:%s", d.Verb, name, target.Directive.Verb)
	default:
		target.Directive, target.Line = &d, r.file.Source.Line(c.Pos())
		return
	}
	r.markUnclear(decls)
}

// inside reports whether pos is within a package-level declaration.
func (r *directiveReader) inside(pos token.Pos) bool {
	for _, decl := range r.file.Source.AST.Decls {
		if decl.Pos() <= pos && pos < decl.End() {
			return true
		}
	}
	return false
}
