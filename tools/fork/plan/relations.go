package plan

import (
	"go/ast"
	"strings"
	"unicode"
	"unicode/utf8"

	"mongofork/tools/fork/syntax"
)

// relations checks what wrap and extend assert beyond the target's existence.
func (mt *matcher) relations(t Touch) error {
	switch t.How {
	case syntax.Wrap:
		return mt.wrapped(t)
	case syntax.Extend:
		mt.extended(t)
	}
	return nil
}

// UpstreamName returns the name under which a wrapped function stays callable.
func UpstreamName(name string) string {
	first, size := utf8.DecodeRuneInString(name)
	return "upstream" + string(unicode.ToUpper(first)) + name[size:]
}

// WrappedKey is the key of a wrapped declaration after it was renamed.
func WrappedKey(t Touch) syntax.Key {
	key, bare := t.Key, t.Ours.Bare()
	key.Name = strings.TrimSuffix(key.Name, bare) + UpstreamName(bare)
	return key
}

func (mt *matcher) wrapped(t Touch) error {
	d := t.Ours
	if d.Func == nil {
		mt.fail(d, "use //fork:replace", "only functions and methods can be wrapped, not a %s", d.Kind)
		return nil
	}
	renamed := UpstreamName(d.Bare())
	newKey := WrappedKey(t)
	found, err := mt.plan.Module.Lookup(newKey)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		mt.fail(d, "use //fork:replace", "upstream already has %s (%s)", newKey.Name, syntax.Places(found))
	}
	if ours, taken := mt.owner[newKey]; taken {
		mt.fail(d, "rename ours", "the overlay declares %s itself (%s)", newKey.Name, ours.At())
	}
	if !uses(d.Func, renamed) {
		mt.fail(d, "call "+renamed+", or use //fork:replace", "ours never uses %s", newKey.Name)
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
	if d.Func != nil {
		mt.literal(t)
		return
	}
	ours, theirs := d.StructType(), t.Theirs.StructType()
	if ours == nil || theirs == nil {
		mt.fail(d, "extend structs and functions only", "both declarations have to define a struct (%s)", t.Theirs.At())
		return
	}
	if len(ours.Fields.List) == 0 {
		mt.fail(d, "add a field or remove the declaration", "no field to add")
	}
	for _, field := range ours.Fields.List {
		if name := fieldNames(field)[0]; len(field.Names) == 0 && ast.IsExported(name) {
			mt.fail(d, "give the field a name, or embed an alias that is not exported", "embedded field %s is exported", name)
		}
	}
	for _, name := range commonFields(ours, theirs) {
		mt.fail(d, "rename the field", "upstream already has the field %s (%s)", name, t.Theirs.At())
	}
}

// literal checks what extending a function asserts: one literal in ours, and one of its type in upstream's that does not have its keys.
func (mt *matcher) literal(t Touch) {
	d := t.Ours
	our, their := ExtendedLiteral(d.Decl, t.Theirs)
	switch {
	case our == nil || len(our.Elts) == 0:
		mt.fail(d, "leave nothing in ours but one literal with the keys to add", "ours has %d keyed literals, not one with keys",
			len(keyedLiterals(d.Decl)))
		return
	case their == nil:
		mt.fail(d, "use //fork:wrap or //fork:replace", "upstream's does not have exactly one keyed literal of type %s (%s)",
			d.File.Text(our.Type.Pos(), our.Type.End()), t.Theirs.At())
		return
	}
	for _, key := range commonKeys(our, their) {
		mt.fail(d, "use //fork:wrap or //fork:replace", "upstream's sets %s already (%s)", key, t.Theirs.At())
	}
}

// touchable checks what all three touching directives assert of upstream.
func (mt *matcher) touchable(d *Decl, found []*syntax.Decl) bool {
	before := len(mt.problems)
	switch {
	case len(found) == 0:
		mt.fail(d, "remove the directive if the declaration is new, or move our file to the folder that has it",
			"upstream %s has no such declaration in %s", mt.plan.Module.Version, d.Key.Package)
		return false
	case len(found) > 1:
		mt.fail(d, "declare something new and call it from upstream's seams instead",
			"upstream has several under different build constraints (%s)", syntax.Places(found))
		return false
	}
	theirs := found[0]
	if theirs.Kind != d.Kind {
		mt.fail(d, "declare the same kind", "ours is a %s, upstream's is a %s (%s)", d.Kind, theirs.Kind, theirs.At())
	}
	if d.Directive.Verb == syntax.Replace && d.Func != nil && theirs.Func != nil && ast.IsExported(theirs.Bare()) {
		if ours, up := words(d.Func.Doc), words(theirs.Func.Doc); ours < up {
			mt.fail(d, "say all that is still true", "our comment has %d words, upstream's %d (%s)", ours, up, theirs.At())
		}
	}
	if theirs.Shared > 1 {
		mt.fail(d, "set the value in an init function instead", "upstream declares %d names at once (%s)", theirs.Shared,
			theirs.At())
	}
	if theirs.Grouped() && inImpliedGroup(theirs) {
		mt.fail(d, "declare a constant of another name", "upstream's value depends on its place in a group with iota (%s)",
			theirs.At())
	}
	if ours, up := d.File.Constraint, theirs.File.Constraint; ours != up {
		mt.fail(d, "give our file the constraint of upstream's", "our file is built when [%s], upstream's %s when [%s]", ours,
			theirs.At(), up)
	}
	return len(mt.problems) == before
}

// inImpliedGroup reports whether taking the constant out of its group would
// change the value of another one, or its own.
func inImpliedGroup(d *syntax.Decl) bool {
	for _, spec := range d.Gen.Specs {
		if (&syntax.Decl{Kind: d.Kind, Spec: spec}).ImpliedValue() {
			return true
		}
	}
	return false
}

// words counts the words of a comment without its directives.
func words(doc *ast.CommentGroup) int { return len(strings.Fields(doc.Text())) }
