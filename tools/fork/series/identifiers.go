package series

import (
	"go/ast"
	"go/token"
)

// parameterNames returns the names in a list of parameters; none if they have none.
func parameterNames(list *ast.FieldList) (all []string) {
	if list == nil {
		return nil
	}
	for _, field := range list.List {
		for _, name := range field.Names {
			all = append(all, name.Name)
		}
	}
	return all
}

// fieldNames returns the identifiers that are names of fields or methods of a value.
func fieldNames(in ast.Node) map[*ast.Ident]bool {
	fields := map[*ast.Ident]bool{}
	for n := range ast.Preorder(in) {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			fields[n.Sel] = true
		case *ast.KeyValueExpr:
			if id, ok := n.Key.(*ast.Ident); ok {
				fields[id] = true
			}
		}
	}
	return fields
}

// identifiers returns the names in a node; with those of fields and methods, if they are wanted.
func identifiers(in ast.Node, withFields bool) (all []string) {
	fields := fieldNames(in)
	for n := range ast.Preorder(in) {
		if id, ok := n.(*ast.Ident); ok && (withFields || !fields[id]) {
			all = append(all, id.Name)
		}
	}
	return all
}

// declared returns the names that statements declare, without those of blocks inside.
func declared(list []ast.Stmt) (all []string) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				for _, left := range s.Lhs {
					all = append(all, identifiers(left, false)...)
				}
			}
		case *ast.DeclStmt:
			for _, spec := range s.Decl.(*ast.GenDecl).Specs {
				switch spec := spec.(type) {
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						all = append(all, name.Name)
					}
				case *ast.TypeSpec:
					all = append(all, spec.Name.Name)
				}
			}
		}
	}
	return all
}

// declaredWithin returns the names that statements declare in blocks inside, where others of these names are hidden.
func declaredWithin(list []ast.Stmt) (all []string) {
	for _, s := range list {
		for n := range ast.Preorder(s) {
			switch n := n.(type) {
			case *ast.AssignStmt:
				all = append(all, declared([]ast.Stmt{n})...)
			case *ast.DeclStmt:
				all = append(all, declared([]ast.Stmt{n})...)
			case *ast.RangeStmt:
				if n.Tok == token.DEFINE {
					for _, x := range []ast.Expr{n.Key, n.Value} {
						if x != nil {
							all = append(all, identifiers(x, false)...)
						}
					}
				}
			case *ast.FuncLit:
				all = append(all, parameterNames(n.Type.Params)...)
			}
		}
	}
	return all
}

// assignedIn returns the names that are assigned in a block, or whose address is taken.
func assignedIn(in ast.Node) (all []string) {
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

// used returns the names that statements use.
func used(list []ast.Stmt) (all []string) {
	for _, s := range list {
		all = append(all, identifiers(s, false)...)
	}
	return all
}
