package series

import (
	"go/ast"
	"go/token"
	"slices"
)

// parameters returns the names in lists of parameters or results; "_" for one without a name.
func parameters(lists ...*ast.FieldList) (all []string) {
	for _, list := range lists {
		if list == nil {
			continue
		}
		for _, field := range list.List {
			for _, name := range field.Names {
				all = append(all, name.Name)
			}
			if len(field.Names) == 0 {
				all = append(all, "_")
			}
		}
	}
	return all
}

// identifiers returns the names in a node, without those of fields and methods.
func identifiers(in ast.Node) (all []string) {
	fields := map[ast.Node]bool{}
	for n := range ast.Preorder(in) {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			fields[n.Sel] = true
		case *ast.KeyValueExpr:
			fields[n.Key] = true
		case *ast.Ident:
			if !fields[n] {
				all = append(all, n.Name)
			}
		}
	}
	return all
}

// declared returns the names that are declared in a node, those in blocks inside, too.
func declared(in ast.Node) (all []string) {
	for n := range ast.Preorder(in) {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, left := range n.Lhs {
					all = append(all, identifiers(left)...)
				}
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				for _, x := range []ast.Expr{n.Key, n.Value} {
					if x != nil {
						all = append(all, identifiers(x)...)
					}
				}
			}
		case *ast.ValueSpec:
			for _, name := range n.Names {
				all = append(all, name.Name)
			}
		case *ast.TypeSpec:
			all = append(all, n.Name.Name)
		case *ast.FuncLit:
			all = append(all, parameters(n.Type.Params)...)
		}
	}
	return all
}

// assigned returns the names that are assigned in a node, or whose address is taken.
func assigned(in ast.Node) (all []string) {
	for n := range ast.Preorder(in) {
		var changed []ast.Expr
		switch n := n.(type) {
		case *ast.AssignStmt:
			changed = n.Lhs
		case *ast.IncDecStmt:
			changed = []ast.Expr{n.X}
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				changed = []ast.Expr{n.X}
			}
		}
		for _, x := range changed {
			if id, ok := x.(*ast.Ident); ok {
				all = append(all, id.Name)
			}
		}
	}
	return all
}

// common reports whether two lists have a name in common.
func common(a, b []string) bool {
	return slices.ContainsFunc(a, func(name string) bool { return slices.Contains(b, name) })
}
