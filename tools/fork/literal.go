package fork

import (
	"bytes"
	"go/ast"
	"slices"
)

// keyedLiterals lists the composite literals of a function that have a type, except those without keys.
func (d *Decl) keyedLiterals() []*ast.CompositeLit {
	var all []*ast.CompositeLit
	if d.fn == nil || d.fn.Body == nil {
		return nil
	}
	ast.Inspect(d.fn.Body, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if ok && lit.Type != nil && !slices.ContainsFunc(lit.Elts, func(e ast.Expr) bool { return keyOf(e) == "" }) {
			all = append(all, lit)
		}
		return true
	})
	return all
}

// keyOf returns the field that an element of a composite literal sets, or "".
func keyOf(element ast.Expr) string {
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
		keys = append(keys, keyOf(element))
	}
	return keys
}

// extendedLiteral returns our function's only literal, and the only one of its type in upstream's function; nil for what is not so.
func extendedLiteral(ours, theirs *Decl) (our, their *ast.CompositeLit) {
	literals := ours.keyedLiterals()
	if len(literals) != 1 {
		return nil, nil
	}
	our = literals[0]
	name := ours.File.text(our.Type.Pos(), our.Type.End())
	same := slices.DeleteFunc(theirs.keyedLiterals(), func(lit *ast.CompositeLit) bool {
		return !bytes.Equal(theirs.File.text(lit.Type.Pos(), lit.Type.End()), name)
	})
	if len(same) != 1 {
		return our, nil
	}
	return our, same[0]
}

// literalExtension copies the elements of our literal to the end of upstream's. gofmt aligns them.
func literalExtension(ours, theirs *Decl) edit {
	our, their := extendedLiteral(ours, theirs)
	last := our.Elts[len(our.Elts)-1].End()
	elements := bytes.TrimSpace(ours.File.text(our.Lbrace+1, last))
	src, at := theirs.File.Src, theirs.File.offset(their.Rbrace)
	if start := lineStart(src, at); len(bytes.TrimSpace(src[start:at])) == 0 {
		comment := bytes.TrimSpace(bytes.TrimPrefix(ours.File.text(last, our.Rbrace), []byte(",")))
		return edit{start: start, end: start, text: slices.Concat(elements, []byte(","), comment, []byte("\n"))}
	}
	if len(their.Elts) > 0 { // all on one line
		elements = append([]byte(", "), elements...)
	}
	return edit{start: at, end: at, text: elements}
}

// literal checks what extending a function asserts: one literal in ours, and one of its type in upstream's that does not have its keys.
func (mt *matcher) literal(t Touch) {
	d := t.Ours
	our, their := extendedLiteral(d.Decl, t.Theirs)
	switch {
	case our == nil || len(our.Elts) == 0:
		mt.fail(d, "leave nothing in ours but one literal with the keys to add", "ours has %d keyed literals, not one with keys", len(d.keyedLiterals()))
		return
	case their == nil:
		mt.fail(d, "use //fork:wrap or //fork:replace", "upstream's does not have exactly one keyed literal of type %s (%s)", d.File.text(our.Type.Pos(), our.Type.End()), t.Theirs.at())
		return
	}
	for _, key := range commonKeys(our, their) {
		mt.fail(d, "use //fork:wrap or //fork:replace", "upstream's sets %s already (%s)", key, t.Theirs.at())
	}
	if ours, up := mt.names.signature(d.Decl), mt.names.signature(t.Theirs); ours != up {
		mt.fail(d, "give ours upstream's signature", "ours is %s, upstream's is %s (%s)", ours, up, t.Theirs.at())
	}
}

// commonKeys returns the keys that both literals set.
func commonKeys(our, their *ast.CompositeLit) []string {
	has := keysOf(their)
	return slices.DeleteFunc(keysOf(our), func(key string) bool { return !slices.Contains(has, key) })
}
