package assemble

import (
	"bytes"
	"go/ast"
	"go/format"
	"slices"

	"mongofork/tools/fork/syntax"
)

// withoutDirectives returns a file of ours without its directives, and without the empty comment lines that gofmt puts before them. Its
// declarations are the same, in the same order.
func withoutDirectives(s *syntax.File) (*syntax.File, error) {
	var edits []Edit
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
		if end := syntax.LineEnd(s.Src, s.Offset(group.End())); len(keep) == 0 && bytes.HasPrefix(s.Src[end:], []byte("\n")) {
			edits = append(edits, CutLines(s.Src, s.Offset(group.Pos()), s.Offset(group.End())))
			continue
		}
		for _, c := range group.List {
			if !slices.Contains(keep, c) {
				start := s.Offset(c.Pos())
				edits = append(edits, Edit{Start: syntax.LineStart(s.Src, start), End: syntax.LineEnd(s.Src, start)})
			}
		}
	}
	text, err := Splice(s.Src, edits)
	if err == nil {
		text, err = format.Source(text)
	}
	if err != nil {
		return nil, err
	}
	return syntax.Parse(s.Path, text)
}
