package assemble

import (
	"go/ast"
	"maps"
	"slices"
)

// removeTheirs takes out of upstream's files what is removed.
func (as *assembler) removeTheirs() {
	for _, r := range as.plan.Removed {
		for _, d := range r.Theirs {
			fe := as.editsIn(d.File)
			if !slices.Contains(fe.removed, d) {
				fe.removed = append(fe.removed, d)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(as.theirs)) {
		as.theirs[name].cutRemoved()
	}
}

// cutRemoved cuts what is removed; parentheses go with the last of their declarations.
func (fe *fileEdits) cutRemoved() {
	gone := map[*ast.GenDecl]int{}
	for _, d := range fe.removed {
		gone[d.Gen]++
		switch {
		case d.Gen == nil || gone[d.Gen] < len(d.Gen.Specs) || len(d.Gen.Specs) == 1:
			fe.cuts = append(fe.cuts, Cut(d))
		default:
			from := d.Gen.Pos()
			if d.Gen.Doc != nil {
				from = d.Gen.Doc.Pos()
			}
			start, end := d.File.Offset(from), d.File.Offset(d.Gen.End())
			fe.cuts = slices.DeleteFunc(fe.cuts, func(e Edit) bool { return start <= e.Start && e.End <= end+1 })
			fe.cuts = append(fe.cuts, CutLines(d.File.Src, start, end))
		}
	}
}

// empty reports whether nothing is left of a file, so that it goes as a whole.
func (fe *fileEdits) empty() bool {
	return len(fe.removed) > 0 && len(fe.removed) == len(fe.source.Decls) && fe.source.AST.Doc == nil
}
