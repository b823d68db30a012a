package plan

import (
	"go/ast"
	"slices"
	"strings"

	"mongofork/tools/fork/syntax"
)

// Removing is a declaration of upstream's that goes.
type Removing struct {
	Key syntax.Key
	Removal
	// Theirs are the declaration and what goes with it.
	Theirs []*syntax.Decl
	Hash   syntax.Fingerprint
}

// remove looks up a declaration that is to go, and checks what can be said before the overlay is laid over: that nothing else is done
// with it, that it stands alone, and that it is not for applications.
func (mt *matcher) remove(r Removal) error {
	key, found, err := mt.named(syntax.Remove, r.Watched)
	if err != nil || len(found) == 0 {
		return err
	}
	if found, err = mt.plan.Module.LookupWhole(key); err != nil {
		return err
	}
	before := len(mt.problems)
	fail := func(mend, format string, args ...any) {
		mt.problems.Add(r.File.Path, r.Line, mend, "//fork:remove %s: "+format, append([]any{key.Name}, args...)...)
	}
	if ours, taken := mt.owner[key]; taken {
		fail("keep one of them", "the overlay has it too (%s)", ours.At())
	}
	if i := slices.IndexFunc(mt.plan.Removed, func(other Removing) bool { return other.Key == key }); i >= 0 {
		fail("keep one of them", "it is removed twice (also %s)", mt.plan.Removed[i].At())
	}
	if isPublic(key) {
		fail("keep it: applications may use it", "it is exported from %s", key.Package)
	}
	for _, d := range found {
		if d.Shared > 1 {
			fail("keep it", "upstream declares %d names at once (%s)", d.Shared, d.At())
		}
		if d.Grouped() && inImpliedGroup(d) {
			fail("keep it", "upstream's value depends on its place in a group with iota (%s)", d.At())
		}
	}
	if len(mt.problems) == before {
		mt.plan.Removed = append(mt.plan.Removed, Removing{Key: key, Removal: r, Theirs: found, Hash: syntax.FingerprintOf(found...)})
	}
	return nil
}

// isPublic reports whether applications can use what a key names. Nobody imports tests.
func isPublic(key syntax.Key) bool {
	receiver, name, isMethod := strings.Cut(key.Name, ".")
	if slices.Contains(strings.Split(key.Package, "/"), "internal") || syntax.IsTestName(key.Name) || strings.HasSuffix(key.Package, "_test") {
		return false
	}
	return ast.IsExported(receiver) && (!isMethod || ast.IsExported(name))
}
