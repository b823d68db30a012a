package syntax

import (
	"go/ast"
	"go/parser"
	"go/types"
	"strconv"
	"strings"
)

// Signature returns a function's receiver, parameter and result types.
// Parameter names are left out, and packages are given by their import path,
// so that equal signatures from different files read alike.
func (n Names) Signature(d *Decl) string {
	refs := n.Imports(d.File)
	var b strings.Builder
	b.WriteString("func")
	if d.Func.Recv != nil {
		b.WriteString("(" + fieldTypes(d.Func.Recv, refs) + ")")
	}
	if d.Func.Type.TypeParams != nil {
		b.WriteString("[" + fieldTypes(d.Func.Type.TypeParams, refs) + "]")
	}
	b.WriteString("(" + fieldTypes(d.Func.Type.Params, refs) + ")")
	if results := d.Func.Type.Results; results != nil {
		b.WriteString(" (" + fieldTypes(results, refs) + ")")
	}
	return b.String()
}

// fieldTypes lists the types of a parameter list, one per parameter.
func fieldTypes(list *ast.FieldList, refs []Import) string {
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
func qualified(expr ast.Expr, refs []Import) string {
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
				if ref, ok := ImportNamed(refs, id.Name); ok {
					id.Name = strconv.Quote(ref.Path)
				}
			}
		}
		return true
	})
	return prefix + types.ExprString(fresh)
}
