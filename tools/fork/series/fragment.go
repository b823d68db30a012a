package series

import (
	"bytes"
	"go/ast"
	"strings"

	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/syntax"
)

// find returns where the lines of a fragment are in a file, and how often. Lines of comments and blank lines are not compared, so that
// a comment can be worded anew; those directly above the first line and those between the lines belong to the fragment. A fragment of
// comments alone is compared as it is.
func (f Fragment) find(data []byte) (start, end, times int) {
	want := codeLines([]byte(f.Lines))
	if len(want) == 0 {
		at := bytes.Index(data, []byte(f.Lines))
		return at, at + len(f.Lines), bytes.Count(data, []byte(f.Lines))
	}
	have := codeLines(data)
	for i := 0; i+len(want) <= len(have); i++ {
		if !sameLines(want, have[i:i+len(want)]) {
			continue
		}
		times++
		start, end = have[i].above, have[i+len(want)-1].end
	}
	return start, end, times
}

// codeLine is a line of code: its text without the space around it, and its place.
type codeLine struct {
	text string
	// above is where the comments directly above it begin.
	above, end int
}

// codeLines lists the lines that are neither blank nor comments.
func codeLines(data []byte) []codeLine {
	var out []codeLine
	at, above := 0, -1
	for line := range bytes.Lines(data) {
		text := strings.TrimSpace(string(line))
		begin := at
		at += len(line)
		switch {
		case text == "":
			above = -1
		case strings.HasPrefix(text, "//"):
			if above < 0 {
				above = begin
			}
		default:
			if above < 0 {
				above = begin
			}
			out = append(out, codeLine{text, above, at})
			above = -1
		}
	}
	return out
}

func sameLines(want, have []codeLine) bool {
	for i := range want {
		if want[i].text != have[i].text {
			return false
		}
	}
	return true
}

// lateFields returns the edits that take out fields of structs that come later, each with its comments.
func (s *Series) lateFields(source *syntax.File, pkg string, last int) []assemble.Edit {
	var cuts []assemble.Edit
	for _, d := range source.Decls {
		st := d.StructType()
		if st == nil {
			continue
		}
		for _, field := range st.Fields.List {
			if len(field.Names) != 1 {
				continue
			}
			if at, ok := s.decls[syntax.Key{Package: pkg, Name: d.Key.Name + "." + field.Names[0].Name}]; ok && at > last {
				cuts = append(cuts, cutField(source, field))
			}
		}
	}
	return cuts
}

func cutField(source *syntax.File, field *ast.Field) assemble.Edit {
	from, to := field.Pos(), field.End()
	if field.Doc != nil {
		from = field.Doc.Pos()
	}
	if field.Comment != nil {
		to = field.Comment.End()
	}
	return assemble.CutLines(source.Src, source.Offset(from), source.Offset(to))
}

// fieldKeys lists the fields of a file's structs as keys, for what a step may name.
func fieldKeys(source *syntax.File, pkg string) []syntax.Key {
	var keys []syntax.Key
	for _, d := range source.Decls {
		if st := d.StructType(); st != nil {
			for _, field := range st.Fields.List {
				for _, name := range field.Names {
					keys = append(keys, syntax.Key{Package: pkg, Name: d.Key.Name + "." + name.Name})
				}
			}
		}
	}
	return keys
}
