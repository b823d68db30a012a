package syntax

import (
	"go/ast"
	"go/token"
)

// findDecls lists the package-level declarations of a file, imports left out.
func findDecls(s *File) []*Decl {
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

func funcDecl(s *File, fn *ast.FuncDecl) *Decl {
	d := &Decl{Kind: Func, File: s, Func: fn, Shared: 1}
	d.Key.Name = fn.Name.Name
	if fn.Recv != nil && len(fn.Recv.List) == 1 {
		d.Kind = Method
		d.Key.Name = ReceiverName(fn.Recv.List[0].Type) + "." + fn.Name.Name
	}
	return d
}

func specDecls(s *File, gen *ast.GenDecl, spec ast.Spec) []*Decl {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		return []*Decl{{Key: Key{Name: spec.Name.Name}, Kind: Type, File: s, Gen: gen, Spec: spec, Shared: 1}}
	case *ast.ValueSpec:
		kind := Var
		if gen.Tok == token.CONST {
			kind = Const
		}
		var out []*Decl
		for _, name := range spec.Names {
			out = append(out, &Decl{Key: Key{Name: name.Name}, Kind: kind, File: s, Gen: gen, Spec: spec, Shared: len(spec.Names)})
		}
		return out
	}
	return nil
}

// ReceiverName returns the type's name of a receiver such as *T or T[K, V].
func ReceiverName(expr ast.Expr) string {
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
