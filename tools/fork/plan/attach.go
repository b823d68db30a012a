package plan

import (
	"go/ast"

	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
)

// readDirectives gives the directives of a file to its declarations, and returns the versions of upstream that the file is for. A
// directive that stands in another place is a problem.
func (f *File) readDirectives(ps *problem.List) (versions syntax.BaseRange) {
	docs := map[*ast.CommentGroup]*Decl{}
	for _, d := range f.Source.Decls {
		ours := &Decl{Decl: d, Line: f.Source.Line(d.Pos())}
		f.Decls = append(f.Decls, ours)
		for _, doc := range d.Docs() {
			docs[doc] = ours
		}
	}
	for _, group := range f.Source.AST.Comments {
		for _, c := range group.List {
			d, ok, err := syntax.ParseDirective(c.Text)
			if !ok {
				continue
			}
			line, target := f.Source.Line(c.Pos()), docs[group]
			switch {
			case err != nil:
				ps.Add(f.Path, line, "write the directive as docs/builder.md says", "%v", err)
			case (d.Verb == syntax.Base) != (c.Pos() < f.Source.AST.Package) || d.Verb == syntax.Base && versions != nil:
				ps.Add(f.Path, line, "only //fork:base stands above the package clause, once, and only there",
					"//fork:%s stands in the wrong place", d.Verb)
			case d.Verb == syntax.Base:
				versions = d.Range
			case d.Verb == syntax.Remove:
				f.Removals = append(f.Removals, Removal{Target: d.Target, Reason: d.Reason, File: f.Source, Line: line})
			case target == nil || target.Directive != nil || target.Unnamed() || target.Grouped() || target.Shared > 1:
				ps.Add(f.Path, line, "put it at the end of the doc comment of one package-level declaration, outside of "+
					"parentheses, that has no other",
					"//fork:%s belongs to no declaration that stands alone", d.Verb)
			default:
				target.Directive, target.Line = &d, line
			}
		}
	}
	return versions
}
