package mutants

import (
	"fmt"
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

// operators finds the edits of one function.
type operators struct {
	text  func(from, to token.Pos) string
	edits []edit
}

// function finds the edits in the body of a function, or of one inside of it.
func (o *operators) function(signature *ast.FuncType, body *ast.BlockStmt) {
	ast.Inspect(body, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.FuncLit:
			o.function(n.Type, n.Body)
			return false
		case *ast.ReturnStmt:
			o.dropError(signature, n)
		default:
			o.conditions(node)
			o.statement(node)
			o.value(node)
		}
		return true
	})
}

func (o *operators) add(from, to token.Pos, text, what string) {
	was := strings.Join(strings.Fields(o.text(from, to)), " ")
	o.edits = append(o.edits, edit{from, to, text, fmt.Sprintf(what, was)})
}

// conditions negates what an if, a for, or a case without a tag asks.
func (o *operators) conditions(node ast.Node) {
	var all []ast.Expr
	switch n := node.(type) {
	case *ast.IfStmt:
		all = []ast.Expr{n.Cond}
	case *ast.ForStmt:
		all = []ast.Expr{n.Cond}
	case *ast.SwitchStmt:
		for _, clause := range n.Body.List {
			if n.Tag == nil {
				all = append(all, clause.(*ast.CaseClause).List...)
			}
		}
	}
	for _, c := range all {
		if c != nil {
			o.add(c.Pos(), c.End(), "!("+o.text(c.Pos(), c.End())+")", "negated: %s")
		}
	}
}

// statement removes a statement, but for locks, whose absence only the race detector sees.
func (o *operators) statement(node ast.Node) {
	switch n := node.(type) {
	case *ast.ExprStmt:
		if call, is := n.X.(*ast.CallExpr); is {
			method, is := call.Fun.(*ast.SelectorExpr)
			if is && slices.Contains([]string{"Lock", "Unlock", "RLock", "RUnlock"}, method.Sel.Name) {
				return
			}
		}
	case *ast.AssignStmt:
		blank, is := n.Lhs[0].(*ast.Ident)
		if n.Tok == token.DEFINE || is && blank.Name == "_" && len(n.Lhs) == 1 {
			return
		}
	case *ast.IncDecStmt, *ast.DeferStmt, *ast.GoStmt, *ast.SendStmt:
	default:
		return
	}
	o.add(node.Pos(), node.End(), "", "removed: %s")
}

// dropError returns nil instead of an error.
func (o *operators) dropError(signature *ast.FuncType, n *ast.ReturnStmt) {
	results := signature.Results
	if results == nil || len(n.Results) != results.NumFields() {
		return
	}
	last := n.Results[len(n.Results)-1]
	kind, isName := results.List[len(results.List)-1].Type.(*ast.Ident)
	if isName && kind.Name == "error" && o.text(last.Pos(), last.End()) != "nil" {
		o.add(last.Pos(), last.End(), "nil", "nil instead of the error: %s")
	}
}

// value changes a constant, or leaves out an element of a literal.
func (o *operators) value(node ast.Node) {
	switch n := node.(type) {
	case *ast.BasicLit:
		if number, err := strconv.ParseInt(n.Value, 0, 64); n.Kind == token.INT && err == nil {
			o.add(n.Pos(), n.End(), strconv.FormatInt(number+1, 10), "one more: %s")
		}
	case *ast.Ident:
		if opposite := map[string]string{"true": "false", "false": "true"}[n.Name]; opposite != "" {
			o.add(n.Pos(), n.End(), opposite, "the opposite: %s")
		}
	case *ast.CompositeLit:
		for i, element := range n.Elts {
			to := n.Rbrace
			if i < len(n.Elts)-1 {
				to = n.Elts[i+1].Pos()
			}
			o.edits = append(o.edits, edit{element.Pos(), to, "", "left out: " + o.text(element.Pos(), element.End())})
		}
	}
}
