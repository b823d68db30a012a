package fork

import (
	"bytes"
	"go/ast"
	"slices"

	"mongofork/tools/fork/syntax"
)

// AssembleInPlace lays the overlay over the module as upstream itself would
// make the change: a replaced declaration stands where the old one stood, a
// wrapper before the one that it wraps, and only what is new stays in our
// files. Directives are left out.
func AssembleInPlace(p *Plan) (*Assembly, error) {
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
	if err := as.checkRemoved(); err != nil {
		return nil, err
	}
	return as.out, as.problems.OrNil()
}

// moveIn puts our declaration into upstream's file.
func (as *assembler) moveIn(t Touch) {
	if t.How == syntax.Extend {
		as.touch(t) // builds put fields in place anyway
		return
	}
	fe := as.editsOf(t)
	start, end := t.Ours.Extent()
	fe.needed = append(fe.needed, as.names.NeededImports(t.Ours.File, start, end)...)
	as.consumed[t.Ours.File] = append(as.consumed[t.Ours.File], cut(t.Ours.Decl))
	text := withoutDirectives(t.Ours.File, start, end)
	from, to := t.Theirs.Extent()
	switch {
	case t.How == syntax.Wrap:
		fe.edits = append(fe.edits, rename(t.Theirs),
			edit{start: from, end: from, text: append(text, "\n\n"...)})
	case t.Theirs.Grouped(): // ours is a separate declaration and goes below the group
		after := t.Theirs.File.Offset(t.Theirs.Gen.End())
		fe.cuts = append(fe.cuts, cut(t.Theirs))
		fe.edits = append(fe.edits, edit{start: after, end: after, text: append([]byte("\n\n"), text...)})
	default:
		fe.cuts = append(fe.cuts, edit{start: from, end: to, text: text})
	}
}

// leaveRest writes what remains of one of our files once its touching
// declarations are in upstream's.
func (as *assembler) leaveRest(f *OverlayFile) error {
	if f.Source == nil {
		as.out.Tree[f.Path] = f.Data
		return nil
	}
	cuts := as.consumed[f.Source]
	if len(cuts)+len(f.Removals) > 0 && len(cuts) == len(f.Decls) && as.importsUsed(f) {
		return nil
	}
	edits := slices.Concat(cuts, pruneImports(as.names, f.Source, cuts, nil))
	for _, e := range directiveEdits(f.Source) {
		if !slices.ContainsFunc(cuts, func(c edit) bool { return c.start <= e.start && e.start < c.end }) {
			edits = append(edits, e)
		}
	}
	return as.put(f.Path, f.Data, "", edits)
}

// withoutDirectives returns [start, end) of a file without directive lines.
func withoutDirectives(s *syntax.File, start, end int) []byte {
	var out []byte
	for _, e := range directiveEdits(s) {
		if start <= e.start && e.end <= end {
			out = append(out, s.Src[start:e.start]...)
			start = e.end
		}
	}
	return append(out, s.Src[start:end]...)
}

// directiveEdits returns the edits that remove a file's directives, in order,
// together with the empty comment line that gofmt puts before them.
func directiveEdits(s *syntax.File) []edit {
	var edits []edit
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
				edits = append(edits, edit{start: syntax.LineStart(s.Src, start), end: syntax.LineEnd(s.Src, start)})
			}
		}
	}
	return edits
}

// wholeGroup removes a comment group of directives only. Directly above a
// declaration the blank line before it stays.
func wholeGroup(s *syntax.File, group *ast.CommentGroup) edit {
	start, end := s.Offset(group.Pos()), syntax.LineEnd(s.Src, s.Offset(group.End()))
	if bytes.HasPrefix(s.Src[end:], []byte("\n")) {
		return cutLines(s.Src, start, s.Offset(group.End()))
	}
	return edit{start: syntax.LineStart(s.Src, start), end: end}
}

func isDirective(c *ast.Comment) bool {
	_, ok, _ := syntax.ParseDirective(c.Text)
	return ok
}
