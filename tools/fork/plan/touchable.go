package plan

import (
	"go/ast"
	"strings"

	"mongofork/tools/fork/syntax"
)

// touchable checks what all three touching directives assert of upstream.
func (mt *matcher) touchable(d *Decl, found []*syntax.Decl) bool {
	before := len(mt.problems)
	switch {
	case len(found) == 0:
		mend := "remove the directive if the declaration is new"
		if others := mt.plan.Module.SameName(d.Key); others != "" {
			mend = "upstream has that name in " + others + "; move our file there if it is the same"
		}
		mt.fail(d, mend, "upstream %s has no such declaration in %s", mt.plan.Module.Version, d.Key.Package)
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
		mt.fail(d, "set the value in an init function instead", "upstream declares %d names at once (%s)", theirs.Shared, theirs.At())
	}
	if theirs.Grouped() && inImpliedGroup(theirs) {
		mt.fail(d, "declare a constant of another name", "upstream's value depends on its place in a group with iota (%s)", theirs.At())
	}
	if ours, up := d.File.Constraint, theirs.File.Constraint; ours != up {
		mt.fail(d, "give our file the constraint of upstream's", "our file is built when [%s], upstream's %s when [%s]", ours, theirs.At(), up)
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
