package plan

import (
	"bytes"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"mongofork/tools/fork/syntax"
)

// commonFields returns the names of our struct's fields that theirs has too.
func commonFields(ours, theirs *ast.StructType) []string {
	has := map[string]bool{}
	for _, field := range theirs.Fields.List {
		for _, name := range fieldNames(field) {
			has[name] = true
		}
	}
	var common []string
	for _, field := range ours.Fields.List {
		for _, name := range fieldNames(field) {
			if has[name] {
				common = append(common, name)
			}
		}
	}
	return common
}

// fieldNames returns the names of a field; an embedded one has its type's.
func fieldNames(f *ast.Field) []string {
	if len(f.Names) == 0 {
		name := types.ExprString(f.Type)
		return []string{name[strings.LastIndexAny(name, "*.")+1:]}
	}
	var names []string
	for _, id := range f.Names {
		names = append(names, id.Name)
	}
	return names
}

// keyedLiterals lists the composite literals of a function that have a type, except those without keys.
func keyedLiterals(d *syntax.Decl) []*ast.CompositeLit {
	var all []*ast.CompositeLit
	if d.Func == nil || d.Func.Body == nil {
		return nil
	}
	ast.Inspect(d.Func.Body, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if ok && lit.Type != nil && !slices.ContainsFunc(lit.Elts, func(e ast.Expr) bool { return KeyOf(e) == "" }) {
			all = append(all, lit)
		}
		return true
	})
	return all
}

// KeyOf returns the field that an element of a composite literal sets, or "".
func KeyOf(element ast.Expr) string {
	if kv, ok := element.(*ast.KeyValueExpr); ok {
		if id, ok := kv.Key.(*ast.Ident); ok {
			return id.Name
		}
	}
	return ""
}

func keysOf(lit *ast.CompositeLit) []string {
	var keys []string
	for _, element := range lit.Elts {
		keys = append(keys, KeyOf(element))
	}
	return keys
}

// ExtendedLiteral returns our function's only literal, and the only one of its type in upstream's function; nil for what is not so.
func ExtendedLiteral(ours, theirs *syntax.Decl) (our, their *ast.CompositeLit) {
	literals := keyedLiterals(ours)
	if len(literals) != 1 {
		return nil, nil
	}
	our = literals[0]
	name := ours.File.Text(our.Type.Pos(), our.Type.End())
	same := slices.DeleteFunc(keyedLiterals(theirs), func(lit *ast.CompositeLit) bool {
		return !bytes.Equal(theirs.File.Text(lit.Type.Pos(), lit.Type.End()), name)
	})
	if len(same) != 1 {
		return our, nil
	}
	return our, same[0]
}

// commonKeys returns the keys that both literals set.
func commonKeys(our, their *ast.CompositeLit) []string {
	has := keysOf(their)
	return slices.DeleteFunc(keysOf(our), func(key string) bool { return !slices.Contains(has, key) })
}
