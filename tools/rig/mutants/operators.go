package mutants

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// edit replaces a part of a file. what says in words what that changes.
type edit struct {
	from, to   token.Pos
	text, what string
}

// edits returns those of a function, of which some may not compile.
func (f function) edits() (all []edit) {
	add := func(what string, node ast.Node, text string) {
		was := strings.Join(strings.Fields(f.source(node.Pos(), node.End())), " ")
		all = append(all, edit{node.Pos(), node.End(), text, what + ": " + was})
	}
	ast.Inspect(f.Body, func(node ast.Node) bool {
		for _, condition := range conditions(node) {
			add("negated", condition, "!("+f.source(condition.Pos(), condition.End())+")")
		}
		if isRemovable(node) {
			add("removed", node, "")
		}
		switch n := node.(type) {
		case *ast.ReturnStmt:
			if len(n.Results) > 0 && mayBeError(n.Results[len(n.Results)-1]) {
				add("nil instead of the error", n.Results[len(n.Results)-1], "nil")
			}
		case *ast.BasicLit:
			if number, err := strconv.ParseInt(n.Value, 0, 64); n.Kind == token.INT && err == nil {
				add("one more", n, strconv.FormatInt(number+1, 10))
			}
		case *ast.Ident:
			if opposite := map[string]string{"true": "false", "false": "true"}[n.Name]; opposite != "" {
				add("the opposite", n, opposite)
			}
		case *ast.CompositeLit:
			for i, element := range n.Elts {
				add("left out", element, "")
				if all[len(all)-1].to = n.Rbrace; i < len(n.Elts)-1 {
					all[len(all)-1].to = n.Elts[i+1].Pos()
				}
			}
		}
		return true
	})
	return all
}

// conditions are what an if, a for, or the cases of a switch without a tag ask.
func conditions(node ast.Node) (all []ast.Expr) {
	switch n := node.(type) {
	case *ast.IfStmt:
		return []ast.Expr{n.Cond}
	case *ast.ForStmt:
		if n.Cond != nil {
			return []ast.Expr{n.Cond}
		}
	case *ast.SwitchStmt:
		for _, clause := range n.Body.List {
			if n.Tag == nil {
				all = append(all, clause.(*ast.CaseClause).List...)
			}
		}
	}
	return all
}

// isRemovable reports whether a statement can go.
func isRemovable(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.ExprStmt:
		call, is := n.X.(*ast.CallExpr)
		return !is || !isLock(call)
	case *ast.DeferStmt:
		return !isLock(n.Call)
	case *ast.AssignStmt:
		blank, is := n.Lhs[0].(*ast.Ident)
		return n.Tok != token.DEFINE && !(is && blank.Name == "_" && len(n.Lhs) == 1)
	case *ast.IncDecStmt, *ast.GoStmt, *ast.SendStmt:
		return true
	}
	return false
}

// isLock reports whether a call locks or unlocks. Only the race detector sees that it is gone.
func isLock(call *ast.CallExpr) bool {
	method, is := call.Fun.(*ast.SelectorExpr)
	return is && slices.Contains([]string{"Lock", "Unlock", "RLock", "RUnlock"}, method.Sel.Name)
}

// mayBeError reports whether an expression is a call, or has an error's name.
func mayBeError(result ast.Expr) bool {
	_, call := result.(*ast.CallExpr)
	name, is := result.(*ast.Ident)
	return call || is && strings.HasPrefix(strings.ToLower(name.Name), "err")
}
