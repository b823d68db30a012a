package assemble

import (
	"bytes"
	"go/ast"
	"slices"

	"mongofork/tools/fork/syntax"
)

// withoutDirectives adds the edits that remove a file's directives, as far as they are not in what is cut.
func (fe *fileEdits) withoutDirectives() {
	cuts := slices.Clone(fe.edits)
	for _, e := range directiveEdits(fe.source) {
		if !slices.ContainsFunc(cuts, func(c Edit) bool { return c.Start <= e.Start && e.Start < c.End }) {
			fe.edits = append(fe.edits, e)
		}
	}
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

// directiveEdits returns the edits that remove a file's directives, in order, with the empty comment lines that gofmt puts before them.
func directiveEdits(s *syntax.File) (edits []Edit) {
	isDirective := func(c *ast.Comment) bool {
		_, ok, _ := syntax.ParseDirective(c.Text)
		return ok
	}
	for _, group := range s.AST.Comments {
		if !slices.ContainsFunc(group.List, isDirective) {
			continue
		}
		keep := slices.DeleteFunc(slices.Clone(group.List), isDirective)
		for len(keep) > 0 && keep[len(keep)-1].Text == "//" {
			keep = keep[:len(keep)-1]
		}
		start, end := s.Offset(group.Pos()), syntax.LineEnd(s.Src, s.Offset(group.End()))
		switch {
		case len(keep) == 0 && bytes.HasPrefix(s.Src[end:], []byte("\n")):
			edits = append(edits, CutLines(s.Src, start, s.Offset(group.End())))
			continue
		case len(keep) == 0: // directly above a declaration the blank line before it stays
			edits = append(edits, Edit{Start: syntax.LineStart(s.Src, start), End: end})
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
