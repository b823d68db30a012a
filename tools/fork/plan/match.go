// Package plan matches an overlay with the module that it is laid over. It looks up in the module what the overlay's directives assert, and
// compares that with the lock. It writes nothing except the lock's text.
package plan

import (
	"cmp"
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"

	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
	"mongofork/tools/fork/upstream"
)

// Touch is what a directive does to a declaration of upstream's.
type Touch struct {
	How    syntax.Verb
	Key    syntax.Key
	Reason string
	// File and Line are where the directive stands.
	File *syntax.File
	Line int
	// Ours is nil if upstream's is removed.
	Ours   *syntax.Decl
	Theirs *syntax.Decl
	// All is Theirs and, if it is removed, what cannot be there without it.
	All []*syntax.Decl
	// Wrapped is how what ours wraps is called in the fork.
	Wrapped string
}

// Plan is an overlay whose every directive has found its upstream declaration.
type Plan struct {
	Module  *upstream.Module
	Overlay *Overlay
	Touches []Touch
	Added   []*syntax.Decl
}

// Theirs returns the upstream declarations that a touch refers to, even if an earlier layer has changed them. It returns none if the
// declaration comes from an earlier layer.
func (p *Plan) Theirs(t Touch) []*syntax.Decl {
	if t.How == syntax.Remove {
		return p.Module.Package(strings.TrimSuffix(t.Key.Package, "_test")).Whole(t.Key)
	}
	return p.Module.Lookup(t.Key)
}

// Match looks up the upstream declaration of each overlay declaration, and checks what its directive, or the lack of one, asserts, except
// what the compiler would find. The plan holds what matched.
func Match(m *upstream.Module, o *Overlay) (*Plan, problem.List) {
	mt := matcher{plan: &Plan{Module: m, Overlay: o}, owner: map[syntax.Key]*syntax.Decl{}}
	for _, f := range o.Files {
		mt.file(f)
	}
	for _, f := range o.Files {
		for _, d := range f.Decls {
			mt.decl(d)
		}
		for _, r := range f.Removals {
			mt.removal(r)
		}
	}
	return mt.plan, mt.problems
}

type matcher struct {
	plan     *Plan
	problems problem.List
	owner    map[syntax.Key]*syntax.Decl
}

// packageOf returns the package part of the keys of one of our files, and upstream's package or, where it lacks the folder, ours.
func (mt *matcher) packageOf(f *syntax.File) (string, *syntax.Package) {
	folder := path.Dir(f.Path)
	p := mt.plan.Module.Package(folder)
	if p.Name == "" {
		var ours []*syntax.File
		for _, file := range mt.plan.Overlay.Files {
			if file.Source != nil && path.Dir(file.Path) == folder {
				ours = append(ours, file.Source)
			}
		}
		p = syntax.NewPackage(folder, ours)
	}
	pkg, ok := p.PackageOf(f)
	if !ok && !f.Ignored() {
		mt.problems.Add(f.Path, f.Line(f.AST.Package), "write package "+p.Name,
			"the file is of package %s in the folder of package %s", f.AST.Name.Name, p.Name)
	}
	return cmp.Or(pkg, folder), p
}

// file checks the file's name and package and completes its keys.
func (mt *matcher) file(f *File) {
	if _, taken := mt.plan.Module.Tree[f.Path]; taken {
		mt.problems.Add(f.Path, 0, "rename the file", "upstream has a file of this name (%s)", f.Path)
	}
	if f.Source == nil {
		return
	}
	pkg, _ := mt.packageOf(f.Source)
	for _, d := range f.Decls {
		d.Key.Package = pkg
		if d.Unnamed() {
			continue
		}
		if first, twice := mt.owner[d.Key]; twice && !alternatives(first.File, d.File) {
			mt.problems.Add(f.Path, d.File.Line(d.Pos()), "keep one of them",
				"%s is declared twice in the overlay (also %s)", d.Key, first.At())
			continue
		}
		mt.owner[d.Key] = d
	}
}

// alternatives reports whether two files are for different builds, such as one for a platform and one for all others. The compiler tells
// if both are in one build.
func alternatives(a, b *syntax.File) bool {
	return a.Constraint != "" && b.Constraint != "" && a.Constraint != b.Constraint
}

// decl matches one declaration with upstream's of the same key.
func (mt *matcher) decl(d *syntax.Decl) {
	found := mt.plan.Module.Lookup(d.Key)
	if d.Directive != nil {
		mt.touch(d, found)
		return
	}
	if len(found) > 0 {
		mt.problems.Add(d.File.Path, d.File.Line(d.Pos()), "rename it, or add //fork:replace or //fork:wrap with a reason",
			"%s is new here, but upstream has it (%s)", d.Key.Name, syntax.Places(found))
	}
	mt.plan.Added = append(mt.plan.Added, d)
}

// touch matches a declaration with the one that its directive is about.
func (mt *matcher) touch(d *syntax.Decl, found []*syntax.Decl) {
	t := Touch{How: d.Directive.Verb, Key: d.Key, Reason: d.Directive.Reason, File: d.File, Line: d.Directive.Line, Ours: d, All: found}
	switch {
	case len(found) == 0:
		mt.fail(t, "remove the directive if the declaration is new, or move our file to the folder that has it",
			"upstream %s has no such declaration in %s", mt.plan.Module.Version, d.Key.Package)
	case len(found) > 1:
		mt.fail(t, "declare something new and call it from upstream's seams instead",
			"upstream has several under different build constraints (%s)", syntax.Places(found))
	case t.How == syntax.Wrap && (d.Func == nil || found[0].Func == nil):
		mt.fail(t, "use //fork:replace", "only functions and methods can be wrapped (%s)", found[0].At())
	case t.How == syntax.Wrap && !syntax.Mentions(d.Func, UpstreamName(d.Bare())):
		mt.fail(t, "call it, or use //fork:replace", "ours never uses %s", UpstreamName(d.Bare()))
	case rooted(found[0]) != "":
		mt.fail(t, "declare something else, or set the value in an init function", "%s (%s)", rooted(found[0]), found[0].At())
	case d.File.Constraint != found[0].File.Constraint:
		mt.fail(t, "give our file the constraint of upstream's", "our file is built when [%s], upstream's %s when [%s]",
			d.File.Constraint, found[0].At(), found[0].File.Constraint)
	default:
		t.Theirs = found[0]
		if t.How == syntax.Wrap {
			t.Wrapped = UpstreamName(d.Bare())
		}
		mt.plan.Touches = append(mt.plan.Touches, t)
	}
}

func (mt *matcher) fail(t Touch, mend, format string, args ...any) {
	mt.problems.Add(t.File.Path, t.Line, mend, "//fork:%s %s: %s", t.How, t.Key.Name, fmt.Sprintf(format, args...))
}

// removal matches a declaration that is to go, in the package of the directive's file.
func (mt *matcher) removal(t Touch) {
	pkg, p := mt.packageOf(t.File)
	t.Key.Package = pkg
	t.All = p.Whole(t.Key)
	ours := mt.owner[t.Key]
	stays := slices.IndexFunc(t.All, func(d *syntax.Decl) bool { return rooted(d) != "" })
	switch found := p.Lookup(t.Key); {
	case len(found) == 0:
		mt.fail(t, "look for what replaced it", "upstream %s has no such declaration in %s", mt.plan.Module.Version, pkg)
	case ours != nil:
		mt.fail(t, "keep one of them", "the overlay has it too (%s)", ours.At())
	case slices.ContainsFunc(mt.plan.Touches, func(other Touch) bool { return other.Key == t.Key }):
		mt.fail(t, "keep one of them", "it is removed twice")
	case isPublic(t.Key) && !found[0].File.IsTest():
		mt.fail(t, "keep it: applications may use it", "it is exported from %s", pkg)
	case stays >= 0:
		mt.fail(t, "keep it", "%s (%s)", rooted(t.All[stays]), t.All[stays].At())
	default:
		t.Theirs = found[0]
		mt.plan.Touches = append(mt.plan.Touches, t)
	}
}

// rooted says why a declaration of upstream's cannot leave its place; empty if it can.
func rooted(d *syntax.Decl) string {
	switch {
	case d.Shared > 1:
		return fmt.Sprintf("upstream declares %d names at once", d.Shared)
	case d.Grouped() && slices.ContainsFunc(d.Gen.Specs, func(s ast.Spec) bool {
		return (&syntax.Decl{Gen: d.Gen, Spec: s}).Implied()
	}):
		return "upstream's value depends on its place in a group with iota"
	}
	return ""
}

// isPublic reports whether applications can use what a key names.
func isPublic(key syntax.Key) bool {
	receiver, name, isMethod := strings.Cut(key.Name, ".")
	return !slices.Contains(strings.Split(key.Package, "/"), "internal") && ast.IsExported(receiver) &&
		(!isMethod || ast.IsExported(name))
}

// UpstreamName returns the name under which a wrapped function stays callable.
func UpstreamName(name string) string {
	letters := []rune(name)
	return "upstream" + strings.ToUpper(string(letters[:1])) + string(letters[1:])
}

// WrappedKey is the key of a wrapped declaration after it was renamed.
func WrappedKey(t Touch) syntax.Key {
	key := t.Key
	key.Name = strings.TrimSuffix(key.Name, t.Ours.Bare()) + t.Wrapped
	return key
}

// Counts says how many declarations the plan touches, by directive.
func (p *Plan) Counts() string {
	count := map[syntax.Verb]int{}
	for _, t := range p.Touches {
		count[t.How]++
	}
	counts := fmt.Sprintf("%d replaced, %d wrapped, %d extended, %d added, %d removed",
		count[syntax.Replace], count[syntax.Wrap], count[syntax.Extend], len(p.Added), count[syntax.Remove])
	if n := count[syntax.Edit]; n > 0 {
		counts += fmt.Sprintf(", %d edited", n)
	}
	return counts
}
