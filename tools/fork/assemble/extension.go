package assemble

import (
	"bytes"
	"go/ast"
	"slices"

	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/syntax"
)

// extension copies the fields of our struct to the end of upstream's, or the
// elements of our function's literal. Where upstream's stand on lines of their own,
// a blank line before ours keeps gofmt from realigning them.
func extension(ours, theirs *syntax.Decl) Edit {
	if ours.Func != nil {
		return literalExtension(ours, theirs)
	}
	fields := ours.StructType().Fields
	closing := theirs.File.Offset(theirs.StructType().Fields.Closing)
	text := bytes.Trim(ours.File.Text(fields.Opening+1, fields.Closing), "\n")
	return Edit{Start: closing, End: closing, Text: slices.Concat([]byte("\n"), text, []byte("\n"))}
}

// longestKey returns how long the longest key of a literal is.
func longestKey(lit *ast.CompositeLit) (longest int) {
	for _, element := range lit.Elts {
		longest = max(longest, len(plan.KeyOf(element)))
	}
	return longest
}

// literalExtension copies the elements of our literal to the end of upstream's. gofmt aligns them.
func literalExtension(ours, theirs *syntax.Decl) Edit {
	our, their := plan.ExtendedLiteral(ours, theirs)
	last := our.Elts[len(our.Elts)-1].End()
	elements := bytes.TrimSpace(ours.File.Text(our.Lbrace+1, last))
	src, at := theirs.File.Src, theirs.File.Offset(their.Rbrace)
	if start := syntax.LineStart(src, at); len(bytes.TrimSpace(src[start:at])) == 0 {
		comment := bytes.TrimSpace(bytes.TrimPrefix(ours.File.Text(last, our.Rbrace), []byte(",")))
		if longestKey(our) > longestKey(their) { // gofmt would align upstream's lines again
			elements = append([]byte("\n"), elements...)
		}
		return Edit{Start: start, End: start, Text: slices.Concat(elements, []byte(","), comment, []byte("\n"))}
	}
	if len(their.Elts) > 0 { // all on one line
		elements = append([]byte(", "), elements...)
	}
	return Edit{Start: at, End: at, Text: elements}
}
