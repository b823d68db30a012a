package fork

import "bytes"

// extension copies the fields of our struct to the end of upstream's, or the
// elements of our function's literal. A blank line before fields keeps gofmt
// from realigning upstream's.
func extension(ours, theirs *Decl) edit {
	if ours.fn != nil {
		return literalExtension(ours, theirs)
	}
	from, to := fieldRange(ours)
	closing := theirs.File.offset(theirs.structType().Fields.Closing)
	e := edit{text: ours.File.Src[from:to], from: ours.File.Path, at: from}
	src := theirs.File.Src
	if start := lineStart(src, closing); len(bytes.TrimSpace(src[start:closing])) == 0 {
		e.start, e.end = start, start
	} else { // all on one line
		e.start, e.end = closing, closing
	}
	return e
}

// fieldRange returns the lines between a struct's braces, or what is between
// them if they stand on one line.
func fieldRange(d *Decl) (from, to int) {
	fields := d.structType().Fields
	from, to = d.File.offset(fields.Opening)+1, d.File.offset(fields.Closing)
	if end := lineEnd(d.File.Src, from); end < to {
		return end, lineStart(d.File.Src, to)
	}
	return from, to
}

// separators surrounds an extension with the line breaks it needs.
func separators(src []byte, e edit) (before, after []byte) {
	if e.start > 0 && src[e.start-1] != '\n' {
		before = []byte("\n")
	}
	if !bytes.HasSuffix(bytes.TrimRight(src[:e.start], " \t\n"), []byte("{")) {
		before = append(before, '\n')
	}
	if !bytes.HasSuffix(e.text, []byte("\n")) {
		after = []byte("\n")
	}
	return before, after
}
