package fork

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
	File *SourceFile

	fn   *ast.FuncDecl // set for functions and methods
	gen  *ast.GenDecl  // set for the others, together with spec
	spec ast.Spec
	// shared counts the names that the spec declares ("a, b = 1, 2").
	shared int
}

// findDecls lists the package-level declarations of a file, imports left out.
func findDecls(s *SourceFile) []*Decl {
	var out []*Decl
	for _, decl := range s.AST.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			out = append(out, funcDecl(s, decl))
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				out = append(out, specDecls(s, decl, spec)...)
			}
		}
	}
	return out
}

func funcDecl(s *SourceFile, fn *ast.FuncDecl) *Decl {
	d := &Decl{Kind: Func, File: s, fn: fn, shared: 1}
	d.Key.Name = fn.Name.Name
	if fn.Recv != nil && len(fn.Recv.List) == 1 {
		d.Kind = Method
		d.Key.Name = receiverName(fn.Recv.List[0].Type) + "." + fn.Name.Name
	}
	return d
}

func specDecls(s *SourceFile, gen *ast.GenDecl, spec ast.Spec) []*Decl {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		return []*Decl{{Key: Key{Name: spec.Name.Name}, Kind: Type, File: s, gen: gen, spec: spec, shared: 1}}
	case *ast.ValueSpec:
		kind := Var
		if gen.Tok == token.CONST {
			kind = Const
		}
		var out []*Decl
		for _, name := range spec.Names {
			out = append(out, &Decl{Key: Key{Name: name.Name}, Kind: kind, File: s, gen: gen, spec: spec, shared: len(spec.Names)})
		}
		return out
	}
	return nil
}

// receiverName returns the type's name of a receiver such as *T or T[K, V].
func receiverName(expr ast.Expr) string {
	for {
		switch t := expr.(type) {
		case *ast.Ident:
			return t.Name
		case *ast.StarExpr:
			expr = t.X
		case *ast.ParenExpr:
			expr = t.X
		case *ast.IndexExpr:
			expr = t.X
		case *ast.IndexListExpr:
			expr = t.X
		default:
			return "?"
		}
	}
}

// unnamed reports whether a package may hold any number of these: init
// functions and blank variables, which nothing can refer to.
func (d *Decl) unnamed() bool {
	return d.Key.Name == "_" || (d.Kind == Func && d.Key.Name == "init")
}

// bare returns the name without the receiver.
func (d *Decl) bare() string {
	if d.fn != nil {
		return d.fn.Name.Name
	}
	return d.Key.Name
}

// grouped reports whether the declaration shares parentheses with others.
func (d *Decl) grouped() bool { return d.gen != nil && len(d.gen.Specs) > 1 }

// docs returns the comment groups that document the declaration.
func (d *Decl) docs() []*ast.CommentGroup {
	var docs []*ast.CommentGroup
	add := func(g *ast.CommentGroup) {
		if g != nil {
			docs = append(docs, g)
		}
	}
	if d.fn != nil {
		add(d.fn.Doc)
		return docs
	}
	if !d.grouped() {
		add(d.gen.Doc)
	}
	if d.gen.Lparen.IsValid() {
		switch spec := d.spec.(type) {
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
	case d.fn != nil:
		return d.fn
	case d.grouped():
		return d.spec
	default:
		return d.gen
	}
}

// pos is where the declaration itself begins, after its comments.
func (d *Decl) pos() token.Pos {
	if d.fn != nil {
		return d.fn.Type.Func
	}
	return d.node().Pos()
}

// extent returns the byte range of the declaration with the comments above it
// and the one behind it.
func (d *Decl) extent() (start, end int) {
	from := d.pos()
	for _, doc := range d.docs() {
		if doc.Pos() < from {
			from = doc.Pos()
		}
	}
	end = d.File.offset(d.node().End())
	line := d.File.Src[end:lineEnd(d.File.Src, end)]
	if bytes.HasPrefix(bytes.TrimLeft(line, " \t"), []byte("//")) {
		end += len(bytes.TrimRight(line, "\n"))
	}
	return d.File.offset(from), end
}

// at returns "path:line" of the declaration.
func (d *Decl) at() string { return d.File.at(d.pos()) }

// lines returns how many lines the declaration takes without its comments.
func (d *Decl) lines() int {
	return d.File.line(d.node().End()) - d.File.line(d.pos()) + 1
}

// structType returns the struct that the declaration defines, or nil.
func (d *Decl) structType() *ast.StructType {
	if spec, ok := d.spec.(*ast.TypeSpec); ok && !spec.Assign.IsValid() {
		st, _ := spec.Type.(*ast.StructType)
		return st
	}
	return nil
}

// impliedValue reports whether a constant's value depends on its place in its
// group: it is written with iota, or repeats the expression above it.
func (d *Decl) impliedValue() bool {
	spec, ok := d.spec.(*ast.ValueSpec)
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
