package fork

import (
	"go/ast"
	"slices"
	"strings"
)

// Removing is a declaration of upstream's that goes.
type Removing struct {
	Key Key
	Removal
	// Theirs are the declaration and what goes with it.
	Theirs []*Decl
	Hash   Fingerprint
}

// remove looks up a declaration that is to go, and checks what can be said before the overlay is laid over: that nothing else is done
// with it, that it stands alone, and that it is not for applications.
func (mt *matcher) remove(r Removal) error {
	key, found, err := mt.named(Remove, r.Watched)
	if err != nil || len(found) == 0 {
		return err
	}
	if found, err = mt.plan.Module.lookupWhole(key); err != nil {
		return err
	}
	before := len(mt.problems)
	fail := func(mend, format string, args ...any) {
		mt.problems.add(r.File.Path, r.Line, mend, "//fork:remove %s: "+format, append([]any{key.Name}, args...)...)
	}
	if ours, taken := mt.owner[key]; taken {
		fail("keep one of them", "the overlay has it too (%s)", ours.at())
	}
	if i := slices.IndexFunc(mt.plan.Removed, func(other Removing) bool { return other.Key == key }); i >= 0 {
		fail("keep one of them", "it is removed twice (also %s)", mt.plan.Removed[i].at())
	}
	if isPublic(key) {
		fail("keep it: applications may use it", "it is exported from %s", key.Package)
	}
	for _, d := range found {
		if d.shared > 1 {
			fail("keep it", "upstream declares %d names at once (%s)", d.shared, d.at())
		}
		if d.grouped() && inImpliedGroup(d) {
			fail("keep it", "upstream's value depends on its place in a group with iota (%s)", d.at())
		}
	}
	if len(mt.problems) == before {
		mt.plan.Removed = append(mt.plan.Removed, Removing{Key: key, Removal: r, Theirs: found, Hash: fingerprint(found...)})
	}
	return nil
}

// isPublic reports whether applications can use what a key names. Tests are nobody's.
func isPublic(key Key) bool {
	receiver, name, isMethod := strings.Cut(key.Name, ".")
	if slices.Contains(strings.Split(key.Package, "/"), "internal") || isTestName(key.Name) || strings.HasSuffix(key.Package, "_test") {
		return false
	}
	return ast.IsExported(receiver) && (!isMethod || ast.IsExported(name))
}
