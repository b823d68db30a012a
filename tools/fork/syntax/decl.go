package syntax

import (
	"bytes"
	"go/ast"
	"go/token"
	"slices"
)

// Decl is one declared name at package level.
type Decl struct {
	Key  Key
	File *File

	// Func is set for functions and methods, Gen and Spec for the others.
	Func *ast.FuncDecl
	Gen  *ast.GenDecl
	Spec ast.Spec
	// Directive says how one of the overlay's touches one of upstream's; nil if it does not.
	Directive *Directive
	// Shared counts the names that the spec declares ("a, b = 1, 2").
	Shared int
}

// Unnamed reports whether a package may hold any number of these: init functions and blank variables.
func (d *Decl) Unnamed() bool { return d.Key.Name == "_" || d.Func != nil && d.Key.Name == "init" }

// Bare returns the name without the receiver.
func (d *Decl) Bare() string {
	if d.Func != nil {
		return d.Func.Name.Name
	}
	return d.Key.Name
}

// Grouped reports whether the declaration shares parentheses with others.
func (d *Decl) Grouped() bool { return d.Gen != nil && len(d.Gen.Specs) > 1 }

// Docs returns the comment groups that document the declaration.
func (d *Decl) Docs() []*ast.CommentGroup {
	var docs []*ast.CommentGroup
	if !d.Grouped() && d.Gen != nil {
		docs = append(docs, d.Gen.Doc)
	}
	switch spec := d.Spec.(type) {
	case *ast.TypeSpec:
		docs = append(docs, spec.Doc)
	case *ast.ValueSpec:
		docs = append(docs, spec.Doc)
	default:
		docs = append(docs, d.Func.Doc)
	}
	return slices.DeleteFunc(docs, func(g *ast.CommentGroup) bool { return g == nil })
}

// node returns the syntax that stands for this declaration alone.
func (d *Decl) node() ast.Node {
	switch {
	case d.Func != nil:
		return d.Func
	case d.Grouped():
		return d.Spec
	}
	return d.Gen
}

// Pos is where the declaration itself begins, after its comments.
func (d *Decl) Pos() token.Pos {
	if d.Func != nil {
		return d.Func.Type.Func
	}
	return d.node().Pos()
}

// Extent returns the byte range of the declaration with the comments above it and the one behind it.
func (d *Decl) Extent() (start, end int) {
	from := d.Pos()
	for _, doc := range d.Docs() {
		from = min(from, doc.Pos())
	}
	end = d.File.Offset(d.node().End())
	line := d.File.Src[end:LineEnd(d.File.Src, end)]
	if bytes.HasPrefix(bytes.TrimLeft(line, " \t"), []byte("//")) {
		end += len(bytes.TrimRight(line, "\n"))
	}
	return d.File.Offset(from), end
}

// StructType returns the struct that the declaration defines, or nil.
func (d *Decl) StructType() *ast.StructType {
	if spec, ok := d.Spec.(*ast.TypeSpec); ok && !spec.Assign.IsValid() {
		st, _ := spec.Type.(*ast.StructType)
		return st
	}
	return nil
}

// Implied reports whether a constant's value depends on its place in its group: it is written with iota, or repeats what is above it.
func (d *Decl) Implied() bool {
	spec, ok := d.Spec.(*ast.ValueSpec)
	return ok && d.Gen.Tok == token.CONST && (len(spec.Values) == 0 || Mentions(spec, "iota"))
}

// Mentions reports whether an identifier of this name stands in a node.
func Mentions(in ast.Node, name string) bool {
	found := false
	ast.Inspect(in, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && id.Name == name
		return !found
	})
	return found
}
