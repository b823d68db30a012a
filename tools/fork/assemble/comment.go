package assemble

import (
	"bytes"
	"go/ast"

	"mongofork/tools/fork/plan"
)

// carriesComment reports whether upstream's comment moves to our wrapper: users read it there, and a wrapper only adds to what it
// says.
func carriesComment(t plan.Touch) bool {
	return ast.IsExported(t.Theirs.Bare()) && t.Theirs.Func.Doc != nil
}

// takeComment takes the comment from upstream's declaration.
func takeComment(t plan.Touch) Edit {
	d := t.Theirs
	return Edit{Start: d.File.Offset(d.Func.Doc.Pos()), End: d.File.Offset(d.Func.Pos())}
}

// commentAbove returns upstream's comment as it stands above ours, which follows as further paragraphs.
func commentAbove(t plan.Touch, ours []byte) []byte {
	doc := t.Theirs.Func.Doc
	text := bytes.Clone(t.Theirs.File.Text(doc.Pos(), doc.End()))
	if bytes.HasPrefix(ours, []byte("//")) {
		text = append(text, "\n//"...)
	}
	return append(text, '\n')
}
