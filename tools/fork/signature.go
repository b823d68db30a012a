package fork

import (
	"go/ast"
	"go/parser"
	"go/types"
	"strconv"
	"strings"
)

// signature returns a function's receiver, parameter and result types.
// Parameter names are left out, and packages are given by their import path,
// so that equal signatures from different files read alike.
func (n packageNamer) signature(d *Decl) string {
	refs := n.imports(d.File)
	var b strings.Builder
	b.WriteString("func")
	if d.fn.Recv != nil {
		b.WriteString("(" + n.fieldTypes(d.fn.Recv, refs) + ")")
	}
	if d.fn.Type.TypeParams != nil {
		b.WriteString("[" + n.fieldTypes(d.fn.Type.TypeParams, refs) + "]")
	}
	b.WriteString("(" + n.fieldTypes(d.fn.Type.Params, refs) + ")")
	if results := d.fn.Type.Results; results != nil {
		b.WriteString(" (" + n.fieldTypes(results, refs) + ")")
	}
	return b.String()
}

// fieldTypes lists the types of a parameter list, one per parameter.
func (n packageNamer) fieldTypes(list *ast.FieldList, refs []importRef) string {
	var out []string
	for _, field := range list.List {
		text := qualified(field.Type, refs)
		for range max(1, len(field.Names)) {
			out = append(out, text)
		}
	}
	return strings.Join(out, ", ")
}

// qualified prints a type with its packages' names replaced by import paths.
func qualified(expr ast.Expr, refs []importRef) string {
	prefix := ""
	if variadic, ok := expr.(*ast.Ellipsis); ok {
		prefix, expr = "...", variadic.Elt
	}
	text := types.ExprString(expr)
	fresh, err := parser.ParseExpr(text) // a copy: the file's own syntax tree is unchanged
	if err != nil {
		return prefix + text
	}
	ast.Inspect(fresh, func(node ast.Node) bool {
		if sel, ok := node.(*ast.SelectorExpr); ok {
			if id, ok := sel.X.(*ast.Ident); ok {
				if ref, ok := byName(refs, id.Name); ok {
					id.Name = strconv.Quote(ref.path)
				}
			}
		}
		return true
	})
	return prefix + types.ExprString(fresh)
}
