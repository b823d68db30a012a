package assemble

import (
	"bytes"
	"go/ast"
	"slices"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/syntax"
)

// Build lays the plan's overlay over its module as upstream itself would
// make the change: a replaced declaration stands where the old one stood, a
// wrapper before the one that it wraps, and only what is new stays in our
// files. Directives are left out. The error is a problem.List if ours and
// upstream's do not fit together.
func Build(p *plan.Plan) (filetree.Tree, error) {
	as := newAssembler(p)
	for _, t := range p.Touches {
		as.moveIn(t)
	}
	if err := as.finishAllTheirs(); err != nil {
		return nil, err
	}
	for _, f := range p.Overlay.Files {
		if err := as.leaveRest(f); err != nil {
			return nil, err
		}
	}
	return as.out, as.problems.OrNil()
}

// moveIn puts our declaration into upstream's file.
func (as *assembler) moveIn(t plan.Touch) {
	if t.How == syntax.Extend {
		as.extend(t)
		return
	}
	fe := as.editsOf(t)
	start, end := t.Ours.Extent()
	fe.needed = append(fe.needed, syntax.NeededImports(t.Ours.File, start, end)...)
	as.consumed[t.Ours.File] = append(as.consumed[t.Ours.File], Cut(t.Ours.Decl))
	text := withoutDirectives(t.Ours.File, start, end)
	from, to := t.Theirs.Extent()
	switch {
	case t.How == syntax.Wrap && carriesComment(t):
		text = append(commentAbove(t, text), text...)
		fe.edits = append(fe.edits, rename(t.Theirs), Edit{Start: from, End: from, Text: append(text, "\n\n"...)}, takeComment(t))
	case t.How == syntax.Wrap:
		fe.edits = append(fe.edits, rename(t.Theirs), Edit{Start: from, End: from, Text: append(text, "\n\n"...)})
	case t.Theirs.Grouped(): // ours is a separate declaration and goes below the group
		after := t.Theirs.File.Offset(t.Theirs.Gen.End())
		fe.cuts = append(fe.cuts, Cut(t.Theirs))
		fe.edits = append(fe.edits, Edit{Start: after, End: after, Text: append([]byte("\n\n"), text...)})
	default:
		fe.cuts = append(fe.cuts, Edit{Start: from, End: to, Text: text})
	}
}

// leaveRest writes what remains of one of our files once its touching
// declarations are in upstream's.
func (as *assembler) leaveRest(f *plan.File) error {
	if f.Source == nil {
		as.out[f.Path] = f.Data
		return nil
	}
	cuts := as.consumed[f.Source]
	edits := slices.Clone(cuts)
	for _, e := range directiveEdits(f.Source) {
		if !slices.ContainsFunc(cuts, func(c Edit) bool { return c.Start <= e.Start && e.Start < c.End }) {
			edits = append(edits, e)
		}
	}
	if err := as.put(f.Path, f.Data, edits, &fileEdits{}); err != nil {
		return err
	}
	left, err := syntax.Parse(f.Path, as.out[f.Path])
	if err == nil && len(cuts)+len(f.Removals) > 0 && len(left.AST.Decls) == 0 {
		delete(as.out, f.Path)
	}
	return err
}

// withoutDirectives returns [start, end) of a file without directive lines.
func withoutDirectives(s *syntax.File, start, end int) []byte {
	var out []byte
	for _, e := range directiveEdits(s) {
		if start <= e.Start && e.End <= end {
			out = append(out, s.Src[start:e.Start]...)
			start = e.End
		}
	}
	return append(out, s.Src[start:end]...)
}

// directiveEdits returns the edits that remove a file's directives, in order,
// together with the empty comment line that gofmt puts before them.
func directiveEdits(s *syntax.File) []Edit {
	var edits []Edit
	for _, group := range s.AST.Comments {
		keep := slices.DeleteFunc(slices.Clone(group.List), isDirective)
		for len(keep) > 0 && keep[len(keep)-1].Text == "//" {
			keep = keep[:len(keep)-1]
		}
		if len(keep) == len(group.List) || !slices.ContainsFunc(group.List, isDirective) {
			continue
		}
		if len(keep) == 0 {
			edits = append(edits, wholeGroup(s, group))
			continue
		}
		for _, c := range group.List {
			if !slices.Contains(keep, c) {
				start := s.Offset(c.Pos())
				edits = append(edits, Edit{Start: syntax.LineStart(s.Src, start), End: syntax.LineEnd(s.Src, start)})
			}
		}
	}
	return edits
}

// wholeGroup removes a comment group of directives only. Directly above a
// declaration the blank line before it stays.
func wholeGroup(s *syntax.File, group *ast.CommentGroup) Edit {
	start, end := s.Offset(group.Pos()), syntax.LineEnd(s.Src, s.Offset(group.End()))
	if bytes.HasPrefix(s.Src[end:], []byte("\n")) {
		return CutLines(s.Src, start, s.Offset(group.End()))
	}
	return Edit{Start: syntax.LineStart(s.Src, start), End: end}
}

func isDirective(c *ast.Comment) bool {
	_, ok, _ := syntax.ParseDirective(c.Text)
	return ok
}

// carriesComment reports whether upstream's comment moves to our wrapper: users read it there, and a wrapper only adds to what it
// says.
func carriesComment(t plan.Touch) bool {
	return ast.IsExported(t.Theirs.Bare()) && t.Theirs.Func.Doc != nil
}

// takeComment takes the comment from upstream's declaration.
func takeComment(t plan.Touch) Edit {
	d := t.Theirs
	return Edit{Start: d.File.Offset(d.Func.Doc.Pos()), End: d.File.Offset(d.Func.Pos())}
}

// commentAbove returns upstream's comment as it stands above ours, which follows as further paragraphs.
func commentAbove(t plan.Touch, ours []byte) []byte {
	doc := t.Theirs.Func.Doc
	text := bytes.Clone(t.Theirs.File.Text(doc.Pos(), doc.End()))
	if bytes.HasPrefix(ours, []byte("//")) {
		text = append(text, "\n//"...)
	}
	return append(text, '\n')
}
