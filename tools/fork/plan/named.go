package plan

import (
	"go/ast"
	"path"
	"slices"
	"strings"

	"mongofork/tools/fork/syntax"
)

// Named is a declaration of upstream's, with what goes with it, that a //fork:watch or //fork:remove directive names.
type Named struct {
	Reference
	Key    syntax.Key
	Theirs []*syntax.Decl
	Hash   syntax.Fingerprint
}

// reference looks up a declaration that a directive names.
func (mt *matcher) reference(r Reference) error {
	folder := path.Dir(r.File.Path)
	p, err := mt.plan.Module.Package(folder)
	if err != nil {
		return err
	}
	pkg, ok := p.PackageOf(r.File)
	if !ok {
		pkg = folder
	}
	key, err := syntax.ParseReference(r.Target, pkg)
	if err != nil {
		mt.problems.Add(r.File.Path, r.Line, "write it as docs/builder.md says", "//fork:%s: %v", r.How, err)
		return nil
	}
	found, err := mt.plan.Module.Lookup(key)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		mt.problems.Add(r.File.Path, r.Line, "look for what replaced it; another package is named by its folder, as in /folder.Name", "//fork:%s %s: upstream %s has no such declaration in %s", r.How, key.Name, mt.plan.Module.Version, key.Package)
		return nil
	}
	if r.How == syntax.Remove {
		if found, err = mt.plan.Module.LookupWhole(key); err != nil || !mt.removable(r, key, found) {
			return err
		}
	}
	mt.plan.Named = append(mt.plan.Named, Named{Reference: r, Key: key, Theirs: found, Hash: syntax.FingerprintOf(found...)})
	return nil
}

// removable checks what can be said of a declaration that is to go before the overlay is laid over: that nothing else is done with
// it, that it stands alone, and that it is not for applications.
func (mt *matcher) removable(r Reference, key syntax.Key, found []*syntax.Decl) bool {
	before := len(mt.problems)
	fail := func(mend, format string, args ...any) {
		mt.problems.Add(r.File.Path, r.Line, mend, "//fork:remove %s: "+format, append([]any{key.Name}, args...)...)
	}
	if ours, taken := mt.owner[key]; taken {
		fail("keep one of them", "the overlay has it too (%s)", ours.At())
	}
	if slices.ContainsFunc(mt.plan.Named, func(n Named) bool { return n.How == syntax.Remove && n.Key == key }) {
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
	if slices.Contains(strings.Split(key.Package, "/"), "internal") || syntax.IsTestName(key.Name) || strings.HasSuffix(key.Package, "_test") {
		return false
	}
	return ast.IsExported(receiver) && (!isMethod || ast.IsExported(name))
}
