package assemble

import (
	"bytes"
	"slices"

	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/syntax"
)

// extension copies the fields of our struct to the end of upstream's, or the
// elements of our function's literal. A blank line before fields keeps gofmt
// from realigning upstream's.
func extension(ours, theirs *syntax.Decl) Edit {
	if ours.Func != nil {
		return literalExtension(ours, theirs)
	}
	from, to := fieldRange(ours)
	closing := theirs.File.Offset(theirs.StructType().Fields.Closing)
	e := Edit{Text: ours.File.Src[from:to], fields: true}
	src := theirs.File.Src
	if start := syntax.LineStart(src, closing); len(bytes.TrimSpace(src[start:closing])) == 0 {
		e.Start, e.End = start, start
	} else { // all on one line
		e.Start, e.End = closing, closing
	}
	return e
}

// fieldRange returns the lines between a struct's braces, or what is between
// them if they stand on one line.
func fieldRange(d *syntax.Decl) (from, to int) {
	fields := d.StructType().Fields
	from, to = d.File.Offset(fields.Opening)+1, d.File.Offset(fields.Closing)
	if end := syntax.LineEnd(d.File.Src, from); end < to {
		return end, syntax.LineStart(d.File.Src, to)
	}
	return from, to
}

// separators surrounds an extension with the line breaks it needs.
func separators(src []byte, e Edit) (before, after []byte) {
	if e.Start > 0 && src[e.Start-1] != '\n' {
		before = []byte("\n")
	}
	if !bytes.HasSuffix(bytes.TrimRight(src[:e.Start], " \t\n"), []byte("{")) {
		before = append(before, '\n')
	}
	if !bytes.HasSuffix(e.Text, []byte("\n")) {
		after = []byte("\n")
	}
	return before, after
}

// literalExtension copies the elements of our literal to the end of upstream's. gofmt aligns them.
func literalExtension(ours, theirs *syntax.Decl) Edit {
	our, their := plan.ExtendedLiteral(ours, theirs)
	last := our.Elts[len(our.Elts)-1].End()
	elements := bytes.TrimSpace(ours.File.Text(our.Lbrace+1, last))
	src, at := theirs.File.Src, theirs.File.Offset(their.Rbrace)
	if start := syntax.LineStart(src, at); len(bytes.TrimSpace(src[start:at])) == 0 {
		comment := bytes.TrimSpace(bytes.TrimPrefix(ours.File.Text(last, our.Rbrace), []byte(",")))
		return Edit{Start: start, End: start, Text: slices.Concat(elements, []byte(","), comment, []byte("\n"))}
	}
	if len(their.Elts) > 0 { // all on one line
		elements = append([]byte(", "), elements...)
	}
	return Edit{Start: at, End: at, Text: elements}
}
