package syntax

import "go/ast"

// UsesOf lists where a file uses a name: as it is, if local is empty, else as local.name; a method after any dot.
func (s *File) UsesOf(name string, isMethod bool, local string) []string {
	var at []string
	ast.Inspect(s.AST, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == name {
			x, _ := sel.X.(*ast.Ident)
			if isMethod || local != "" && x != nil && x.Name == local {
				at = append(at, s.at(sel.Pos()))
			}
		}
		return true
	})
	if !isMethod && local == "" {
		for _, id := range s.AST.Unresolved {
			if id.Name == name {
				at = append(at, s.at(id.Pos()))
			}
		}
	}
	return at
}
