package assemble

import (
	"bytes"
	"fmt"
	"go/ast"
	"maps"
	"regexp"
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
		if len(e.Text) == 0 { // a cut may lie in another
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

// Cut returns the edit that takes the lines of [start, end) out of a file. Formatting leaves one of the blank lines around them.
func Cut(src []byte, start, end int) Edit {
	return Edit{Start: syntax.LineStart(src, start), End: syntax.LineEnd(src, end)}
}

// directives are the lines of directives, with the empty comment lines that gofmt puts before them.
var directives = regexp.MustCompile(`(?m)^(?://\n)*(?://fork:.*\n?)+`)

// directiveCuts takes the directives out of a file of ours.
func directiveCuts(s *syntax.File) (cuts []Edit) {
	for _, group := range s.AST.Comments { // a string may have such lines, too
		start, end := s.Offset(group.Pos()), syntax.LineEnd(s.Src, s.Offset(group.End()))
		for _, at := range directives.FindAllIndex(s.Src[start:end], -1) {
			cuts = append(cuts, Edit{Start: start + at[0], End: start + at[1]})
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
