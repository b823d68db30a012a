package plan

import (
	"go/ast"

	"mongofork/tools/fork/syntax"
)

// CommonFields returns the names of our struct's fields that theirs has too, or of our literal's keys.
func CommonFields(ours, theirs *syntax.Decl) []string {
	if ours.Func != nil {
		our, their := ExtendedLiteral(ours, theirs)
		if their == nil {
			return nil
		}
		return commonKeys(our, their)
	}
	has := map[string]bool{}
	if st := theirs.StructType(); st != nil {
		for _, field := range st.Fields.List {
			for _, name := range fieldNames(field) {
				has[name] = true
			}
		}
	}
	var common []string
	for _, field := range ours.StructType().Fields.List {
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
		if sel, ok := ast.Unparen(f.Type).(*ast.SelectorExpr); ok {
			return []string{sel.Sel.Name}
		}
		if star, ok := f.Type.(*ast.StarExpr); ok {
			return fieldNames(&ast.Field{Type: star.X})
		}
		return []string{syntax.ReceiverName(f.Type)}
	}
	var names []string
	for _, id := range f.Names {
		names = append(names, id.Name)
	}
	return names
}
