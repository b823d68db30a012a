package plan

import (
	"go/ast"
	"path"
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

// watch looks up one watched name.
func (mt *matcher) watch(w Watched) error {
	key, found, err := mt.named(syntax.Watch, w)
	if len(found) > 0 {
		mt.plan.Watched = append(mt.plan.Watched, Watching{Key: key, Watched: w, Theirs: found, Hash: syntax.FingerprintOf(found...)})
	}
	return err
}

// named looks up a declaration that a directive names. If there is none, that is a problem.
func (mt *matcher) named(verb syntax.Verb, w Watched) (syntax.Key, []*syntax.Decl, error) {
	p, err := mt.plan.Module.Package(path.Dir(w.File.Path))
	if err != nil {
		return syntax.Key{}, nil, err
	}
	pkg, ok := p.PackageOf(w.File)
	if !ok {
		pkg = path.Dir(w.File.Path)
	}
	key, err := syntax.ParseReference(w.Target, pkg)
	if err != nil {
		mt.problems.Add(w.File.Path, w.Line, "write it as docs/builder.md says", "//fork:%s: %v", verb, err)
		return syntax.Key{}, nil, nil
	}
	found, err := mt.plan.Module.Lookup(key)
	if err == nil && len(found) == 0 {
		mt.problems.Add(w.File.Path, w.Line, "look for what replaced it; another package is named by its folder, as in /folder.Name", "//fork:%s %s: upstream %s has no such declaration in %s", verb, key.Name, mt.plan.Module.Version, key.Package)
	}
	return key, found, err
}
