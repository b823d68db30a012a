package assemble

import (
	"bytes"
	"go/ast"
	"slices"

	"mongofork/tools/fork/syntax"
)

// directiveCuts takes the directives out of a file of ours, with the empty comment lines that gofmt puts before them.
func directiveCuts(s *syntax.File) (cuts []Edit) {
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
			cuts = append(cuts, CutLines(s.Src, s.Offset(group.Pos()), s.Offset(group.End())))
			continue
		}
		for _, c := range group.List {
			if !slices.Contains(keep, c) {
				start := s.Offset(c.Pos())
				cuts = append(cuts, Edit{Start: syntax.LineStart(s.Src, start), End: syntax.LineEnd(s.Src, start)})
			}
		}
	}
	return cuts
}
