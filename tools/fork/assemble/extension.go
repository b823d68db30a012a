package assemble

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"slices"

	"mongofork/tools/fork/syntax"
)

// extension appends the fields of our struct to upstream's, or the elements of our function's only literal to upstream's only literal of
// that type, with a blank line before them where gofmt would align upstream's anew. If they do not fit, mend says what to do.
func extension(ours, theirs *syntax.Decl) (edit Edit, mend string, err error) {
	if ours.Func == nil || theirs.Func == nil {
		our, their := ours.StructType(), theirs.StructType()
		if our == nil || their == nil {
			return edit, "extend structs and functions only", errors.New("both declarations have to define a struct")
		}
		closing := theirs.File.Offset(their.Fields.Closing)
		text := bytes.Trim(ours.File.Text(our.Fields.Opening+1, our.Fields.Closing), "\n")
		return Edit{Start: closing, End: closing, Text: slices.Concat([]byte("\n"), text, []byte("\n"))}, "", nil
	}
	literals := keyedLiterals(ours, nil)
	if len(literals) != 1 || len(literals[0].Elts) == 0 {
		return edit, "leave nothing in ours but one literal with the keys to add",
			fmt.Errorf("ours has %d keyed literals, not one with keys", len(literals))
	}
	our := literals[0]
	name := ours.File.Text(our.Type.Pos(), our.Type.End())
	if literals = keyedLiterals(theirs, name); len(literals) != 1 {
		return edit, "use //fork:wrap or //fork:replace",
			fmt.Errorf("upstream's does not have exactly one keyed literal of type %s", name)
	}
	their, last := literals[0], our.Elts[len(our.Elts)-1].End()
	behind := bytes.TrimPrefix(ours.File.Text(last, our.Rbrace), []byte(","))
	elements := bytes.TrimSpace(slices.Concat(ours.File.Text(our.Lbrace+1, last), []byte(","), behind))
	at := theirs.File.Offset(their.Rbrace)
	start := syntax.LineStart(theirs.File.Src, at)
	if len(bytes.TrimSpace(theirs.File.Src[start:at])) > 0 {
		return edit, "use //fork:wrap or //fork:replace", errors.New("upstream's literal does not end on a line of its own")
	}
	if longestKey(our) > longestKey(their) { // gofmt would align upstream's lines again
		elements = append([]byte("\n"), elements...)
	}
	return Edit{Start: start, End: start, Text: append(elements, '\n')}, "", nil
}

// keyedLiterals lists the composite literals of a function that have a type, this one if it is given, except those without keys.
func keyedLiterals(d *syntax.Decl, name []byte) (all []*ast.CompositeLit) {
	for n := range ast.Preorder(d.Func) {
		lit, ok := n.(*ast.CompositeLit)
		if ok && lit.Type != nil && (name == nil || bytes.Equal(d.File.Text(lit.Type.Pos(), lit.Type.End()), name)) &&
			(len(lit.Elts) == 0 || longestKey(lit) > 0) {
			all = append(all, lit)
		}
	}
	return all
}

// longestKey returns how long the longest key of a literal is.
func longestKey(lit *ast.CompositeLit) (longest int) {
	for _, element := range lit.Elts {
		if kv, ok := element.(*ast.KeyValueExpr); ok {
			longest = max(longest, int(kv.Key.End()-kv.Key.Pos()))
		}
	}
	return longest
}
