package fork

import (
	"go/ast"
	"strings"
	"unicode"
	"unicode/utf8"
)

// relations checks what wrap and extend assert beyond the target's existence.
func (mt *matcher) relations(t Touch) error {
	switch t.How {
	case Wrap:
		return mt.wrapped(t)
	case Extend:
		mt.extended(t)
	}
	return nil
}

// UpstreamName returns the name under which a wrapped function stays callable.
func UpstreamName(name string) string {
	first, size := utf8.DecodeRuneInString(name)
	return "upstream" + string(unicode.ToUpper(first)) + name[size:]
}

// wrappedKey is the key of a wrapped declaration after it was renamed.
func wrappedKey(t Touch) Key {
	key, bare := t.Key, t.Ours.bare()
	key.Name = strings.TrimSuffix(key.Name, bare) + UpstreamName(bare)
	return key
}

func (mt *matcher) wrapped(t Touch) error {
	d := t.Ours
	if d.fn == nil {
		mt.fail(d, "use //fork:replace", "only functions and methods can be wrapped, not a %s", d.Kind)
		return nil
	}
	renamed := UpstreamName(d.bare())
	newKey := wrappedKey(t)
	found, err := mt.plan.Module.Lookup(newKey)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		mt.fail(d, "use //fork:replace", "upstream already has %s (%s)", newKey.Name, places(found))
	}
	if ours, taken := mt.owner[newKey]; taken {
		mt.fail(d, "rename ours", "the overlay declares %s itself (%s)", newKey.Name, ours.at())
	}
	if !uses(d.fn, renamed) {
		mt.fail(d, "call "+renamed+", or use //fork:replace", "ours never uses %s", newKey.Name)
	}
	if ours, up := mt.names.signature(d.Decl), mt.names.signature(t.Theirs); ours != up {
		mt.fail(d, "give ours upstream's signature", "ours is %s, upstream's is %s (%s)", ours, up, t.Theirs.at())
	}
	return nil
}

// uses reports whether a function's body refers to name.
func uses(fn *ast.FuncDecl, name string) bool {
	found := false
	if fn.Body != nil {
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && id.Name == name {
				found = true
			}
			return !found
		})
	}
	return found
}

func (mt *matcher) extended(t Touch) {
	d := t.Ours
	if d.fn != nil {
		mt.literal(t)
		return
	}
	ours, theirs := d.structType(), t.Theirs.structType()
	if ours == nil || theirs == nil {
		mt.fail(d, "extend structs and functions only", "both declarations have to define a struct (%s)", t.Theirs.at())
		return
	}
	if len(ours.Fields.List) == 0 {
		mt.fail(d, "add a field or remove the declaration", "no field to add")
	}
	for _, field := range ours.Fields.List {
		if len(field.Names) == 0 {
			mt.fail(d, "give the field a name", "embedded field %s: embedding would change upstream's method set", fieldNames(field)[0])
		}
	}
	for _, name := range commonFields(d.Decl, t.Theirs) {
		mt.fail(d, "rename the field", "upstream already has the field %s (%s)", name, t.Theirs.at())
	}
}

// commonFields returns the names of our struct's fields that theirs has too, or of our literal's keys.
func commonFields(ours, theirs *Decl) []string {
	if ours.fn != nil {
		our, their := extendedLiteral(ours, theirs)
		if their == nil {
			return nil
		}
		return commonKeys(our, their)
	}
	has := map[string]bool{}
	if st := theirs.structType(); st != nil {
		for _, field := range st.Fields.List {
			for _, name := range fieldNames(field) {
				has[name] = true
			}
		}
	}
	var common []string
	for _, field := range ours.structType().Fields.List {
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
		return []string{receiverName(f.Type)}
	}
	var names []string
	for _, id := range f.Names {
		names = append(names, id.Name)
	}
	return names
}
