package syntax

import (
	"bytes"
	"go/ast"
	"go/token"
)

// Kind is the sort of a declaration.
type Kind string

// The kinds of package-level declarations.
const (
	Func   Kind = "func"
	Method Kind = "method"
	Type   Kind = "type"
	Var    Kind = "var"
	Const  Kind = "const"
)

// Decl is one declared name at package level.
type Decl struct {
	Key  Key
	Kind Kind
	File *File

	// Func is set for functions and methods, Gen and Spec for the others.
	Func *ast.FuncDecl
	Gen  *ast.GenDecl
	Spec ast.Spec
	// Shared counts the names that the spec declares ("a, b = 1, 2").
	Shared int
}

// Unnamed reports whether a package may hold any number of these: init
// functions and blank variables, which nothing can refer to.
func (d *Decl) Unnamed() bool {
	return d.Key.Name == "_" || (d.Kind == Func && d.Key.Name == "init")
}

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
	add := func(g *ast.CommentGroup) {
		if g != nil {
			docs = append(docs, g)
		}
	}
	if d.Func != nil {
		add(d.Func.Doc)
		return docs
	}
	if !d.Grouped() {
		add(d.Gen.Doc)
	}
	if d.Gen.Lparen.IsValid() {
		switch spec := d.Spec.(type) {
		case *ast.TypeSpec:
			add(spec.Doc)
		case *ast.ValueSpec:
			add(spec.Doc)
		}
	}
	return docs
}

// node returns the syntax that stands for this declaration alone.
func (d *Decl) node() ast.Node {
	switch {
	case d.Func != nil:
		return d.Func
	case d.Grouped():
		return d.Spec
	default:
		return d.Gen
	}
}

// Pos is where the declaration itself begins, after its comments.
func (d *Decl) Pos() token.Pos {
	if d.Func != nil {
		return d.Func.Type.Func
	}
	return d.node().Pos()
}

// Extent returns the byte range of the declaration with the comments above it
// and the one behind it.
func (d *Decl) Extent() (start, end int) {
	from := d.Pos()
	for _, doc := range d.Docs() {
		if doc.Pos() < from {
			from = doc.Pos()
		}
	}
	end = d.File.Offset(d.node().End())
	line := d.File.Src[end:LineEnd(d.File.Src, end)]
	if bytes.HasPrefix(bytes.TrimLeft(line, " \t"), []byte("//")) {
		end += len(bytes.TrimRight(line, "\n"))
	}
	return d.File.Offset(from), end
}

// At returns "path:line" of the declaration.
func (d *Decl) At() string { return d.File.at(d.Pos()) }

// StructType returns the struct that the declaration defines, or nil.
func (d *Decl) StructType() *ast.StructType {
	if spec, ok := d.Spec.(*ast.TypeSpec); ok && !spec.Assign.IsValid() {
		st, _ := spec.Type.(*ast.StructType)
		return st
	}
	return nil
}

// ImpliedValue reports whether a constant's value depends on its place in its
// group: it is written with iota, or repeats the expression above it.
func (d *Decl) ImpliedValue() bool {
	spec, ok := d.Spec.(*ast.ValueSpec)
	if !ok || d.Kind != Const {
		return false
	}
	if len(spec.Values) == 0 {
		return true
	}
	found := false
	for _, value := range spec.Values {
		ast.Inspect(value, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && id.Name == "iota" {
				found = true
			}
			return !found
		})
	}
	return found
}
