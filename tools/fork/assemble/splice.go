package assemble

import (
	"bytes"
	"fmt"
	"go/ast"
	"maps"
	"slices"

	"golang.org/x/tools/go/ast/astutil"

	"mongofork/tools/fork/syntax"
)

// Edit replaces the bytes [start, end) of a file by text.
type Edit struct {
	Start, End int
	Text       []byte
}

// Splice applies edits to src. Everything else stays byte for byte: printing a changed syntax tree would move comments.
func Splice(src []byte, edits []Edit) ([]byte, error) {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b Edit) int { return a.Start - b.Start })
	var out bytes.Buffer
	done := 0
	for _, e := range edits {
		if len(e.Text) == 0 { // two cuts may share the blank lines between them
			e.Start, e.End = max(e.Start, done), max(e.End, done)
		}
		if e.Start < done || e.End < e.Start || e.End > len(src) {
			return nil, fmt.Errorf("edits overlap at byte %d", e.Start)
		}
		out.Write(src[done:e.Start])
		out.Write(e.Text)
		done = e.End
	}
	out.Write(src[done:])
	return out.Bytes(), nil
}

// Cut returns the edit that takes a declaration out of its file: its comments,
// the rest of its last line, and the blank lines that set it apart.
func Cut(d *syntax.Decl) Edit {
	start, end := d.Extent()
	return CutLines(d.File.Src, start, end)
}

// CutLines widens [start, end) to whole lines and takes the blank lines after
// it, or those before it at the end of the file.
func CutLines(src []byte, start, end int) Edit {
	for start > 0 && (src[start-1] == ' ' || src[start-1] == '\t') {
		start--
	}
	end = syntax.LineEnd(src, end)
	blankBefore := start == 0 || bytes.HasSuffix(src[:start], []byte("\n\n"))
	for blankBefore && end < len(src) && src[end] == '\n' {
		end++
	}
	if end == len(src) {
		start = len(bytes.TrimRight(src[:start], "\n"))
		if start > 0 {
			start++
		}
	}
	return Edit{Start: start, End: end}
}

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

// mendImports gives the syntax tree of a file the imports that it needs and lacks, by name, and takes out those that nothing in it uses. An
// error says that a name means something else there. Imports named "_", "." or "C" have their own effects.
func mendImports(source *syntax.File, needed map[string]*ast.ImportSpec) error {
	fset, file := source.Fset, source.AST
	have, uses := syntax.Imports(source), syntax.PackageUses(source, 0, len(source.Src))
	for _, as := range slices.Sorted(maps.Keys(needed)) {
		path := syntax.ImportPath(needed[as])
		if there := have[as]; there == nil {
			astutil.AddNamedImport(fset, file, syntax.ImportName(needed[as]), path)
		} else if syntax.ImportPath(there) != path {
			return fmt.Errorf("%s means %q there, but %q in ours", as, syntax.ImportPath(there), path)
		}
	}
	for as, spec := range have {
		if path := syntax.ImportPath(spec); as != "_" && as != "." && path != "C" && !uses[as] {
			astutil.DeleteNamedImport(fset, file, syntax.ImportName(spec), path)
		}
	}
	return nil
}
