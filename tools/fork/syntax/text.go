package syntax

import (
	"bytes"
	"slices"
	"strings"
)

// Places lists the first declaration in each file, with build constraints.
func Places(decls []*Decl) string {
	var list []string
	seen := map[*File]bool{}
	for _, d := range decls {
		if seen[d.File] {
			continue
		}
		seen[d.File] = true
		at := d.At()
		if d.File.Constraint != "" {
			at += " [" + d.File.Constraint + "]"
		}
		list = append(list, at)
	}
	return strings.Join(list, ", ")
}

// Text returns a declaration with its comments, ending in a newline.
func Text(d *Decl) []byte {
	start, end := d.Extent()
	return append(slices.Clone(d.File.Src[start:end]), '\n')
}

// LineEnd returns the offset just after the line that holds offset i.
func LineEnd(src []byte, i int) int {
	if n := bytes.IndexByte(src[i:], '\n'); n >= 0 {
		return i + n + 1
	}
	return len(src)
}

// LineStart returns the offset of the first byte of the line that holds i.
func LineStart(src []byte, i int) int {
	return bytes.LastIndexByte(src[:i], '\n') + 1
}
