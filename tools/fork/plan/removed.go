package plan

import (
	"go/ast"
	"path"
	"slices"
	"strings"

	"mongofork/tools/fork/syntax"
)

// Removed is a declaration of upstream's, with what goes with it, that a //fork:remove directive names.
type Removed struct {
	Removal
	Key    syntax.Key
	Theirs []*syntax.Decl
	Hash   syntax.Fingerprint
}

// removal looks up a declaration that is to go, in the package of the directive's file.
func (mt *matcher) removal(r Removal) error {
	folder := path.Dir(r.File.Path)
	p, err := mt.plan.Module.Package(folder)
	if err != nil {
		return err
	}
	pkg, ok := p.PackageOf(r.File)
	if !ok {
		pkg = folder
	}
	key := syntax.Key{Package: pkg, Name: r.Target}
	found, err := mt.plan.Module.LookupWhole(key)
	if err != nil {
		return err
	}
	if len(p.Lookup(key)) == 0 {
		mt.problems.Add(r.File.Path, r.Line, "look for what replaced it",
			"//fork:remove %s: upstream %s has no such declaration in %s", key.Name, mt.plan.Module.Version, key.Package)
		return nil
	}
	if mt.removable(r, key, found) {
		mt.plan.Removed = append(mt.plan.Removed,
			Removed{Removal: r, Key: key, Theirs: found, Hash: syntax.FingerprintOf(found...)})
	}
	return nil
}

// removable checks what can be said of a declaration that is to go before the overlay is laid over: that nothing else is done with
// it, that it stands alone, and that it is not for applications.
func (mt *matcher) removable(r Removal, key syntax.Key, found []*syntax.Decl) bool {
	before := len(mt.problems)
	fail := func(mend, format string, args ...any) {
		mt.problems.Add(r.File.Path, r.Line, mend, "//fork:remove %s: "+format, append([]any{key.Name}, args...)...)
	}
	if ours, taken := mt.owner[key]; taken {
		fail("keep one of them", "the overlay has it too (%s)", ours.At())
	}
	if slices.ContainsFunc(mt.plan.Removed, func(other Removed) bool { return other.Key == key }) {
		fail("keep one of them", "it is removed twice")
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
	return len(mt.problems) == before
}

// isPublic reports whether applications can use what a key names. Nobody imports tests.
func isPublic(key syntax.Key) bool {
	receiver, name, isMethod := strings.Cut(key.Name, ".")
	if slices.Contains(strings.Split(key.Package, "/"), "internal") || syntax.IsTestName(key.Name) ||
		strings.HasSuffix(key.Package, "_test") {
		return false
	}
	return ast.IsExported(receiver) && (!isMethod || ast.IsExported(name))
}
