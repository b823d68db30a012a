package fork

// touchable checks what all three touching directives assert of upstream.
func (mt *matcher) touchable(d *OverlayDecl, found []*Decl) bool {
	before := len(mt.problems)
	switch {
	case len(found) == 0:
		mend := "remove the directive if the declaration is new"
		if others := sameName(mt.plan.Module, d.Key); others != "" {
			mend = "upstream has that name in " + others + "; move our file there if it is the same"
		}
		mt.fail(d, mend, "upstream %s has no such declaration in %s", mt.plan.Module.origin(), d.Key.Package)
		return false
	case len(found) > 1:
		mt.fail(d, "declare something new and call it from upstream's seams instead",
			"upstream has several under different build constraints (%s)", places(found))
		return false
	}
	theirs := found[0]
	if theirs.Kind != d.Kind {
		mt.fail(d, "declare the same kind", "ours is a %s, upstream's is a %s (%s)", d.Kind, theirs.Kind, theirs.at())
	}
	if theirs.shared > 1 {
		mt.fail(d, "set the value in an init function instead", "upstream declares %d names at once (%s)", theirs.shared, theirs.at())
	}
	if theirs.grouped() && inImpliedGroup(theirs) {
		mt.fail(d, "declare a constant of another name", "upstream's value depends on its place in a group with iota (%s)", theirs.at())
	}
	if ours, up := d.File.Constraint, theirs.File.Constraint; ours != up {
		mt.fail(d, "give our file the constraint of upstream's", "our file is built when [%s], upstream's %s when [%s]", ours, theirs.at(), up)
	}
	return len(mt.problems) == before
}

// inImpliedGroup reports whether taking the constant out of its group would
// change the value of another one, or its own.
func inImpliedGroup(d *Decl) bool {
	for _, spec := range d.gen.Specs {
		if (&Decl{Kind: d.Kind, spec: spec}).impliedValue() {
			return true
		}
	}
	return false
}
