// Package plan matches an overlay with the module that it is laid over. It looks up in the module what the overlay's directives assert.
package plan

import (
	"fmt"
	"slices"
	"strings"

	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
	"mongofork/tools/fork/upstream"
)

// Touch is what a directive does to a declaration of upstream's.
type Touch struct {
	How syntax.Verb
	Key syntax.Key
	// File and Line are where the directive stands.
	File *syntax.File
	Line int
	// Ours is nil if upstream's is removed.
	Ours    *syntax.Decl
	Theirs  *syntax.Decl
	All     []*syntax.Decl // Theirs and, if it is removed, what cannot be there without it
	Wrapped string         // how what ours wraps is called in the fork
}

// Plan is an overlay whose every directive has found its upstream declaration.
type Plan struct {
	Module *upstream.Module
	// Overlay has the layers that are laid, and All also those that the repository has besides.
	Overlay, All Overlay
	Touches      []Touch
	Added        []*syntax.Decl
}

// Theirs returns the upstream declarations that a touch refers to, even if an earlier layer has changed them. It returns none if the
// declaration comes from an earlier layer.
func (p *Plan) Theirs(t Touch) []*syntax.Decl {
	if t.How == syntax.Remove {
		return p.Module.Whole(t.Key)
	}
	return p.Module.Lookup(t.Key)
}

// Match looks up the upstream declaration of each declaration of a layer, and checks what its directive, or the lack of one, asserts,
// except what the compiler would find. The plan holds what matched.
func Match(m *upstream.Module, layer *Layer) (*Plan, problem.List) {
	mt := matcher{plan: &Plan{Module: m, Overlay: Overlay{layer}}}
	for _, f := range layer.Files {
		if _, taken := m.Tree[f.Path]; taken {
			mt.problems.Add(f.From, 0, "rename the file", "upstream has a file of this name (%s)", f.Path)
		}
		for _, t := range f.Touches {
			mt.touch(t)
		}
		for _, d := range f.Decls {
			if f.touches(d) {
				continue
			}
			if found := m.Lookup(d.Key); len(found) > 0 {
				mend := "rename it, or add //fork:replace or //fork:wrap with a reason"
				mt.problems.Add(f.From, d.File.Line(d.Pos()), mend, "%s is new here, but upstream has it (%s)", d.Key.Name,
					syntax.Places(found))
			}
			mt.plan.Added = append(mt.plan.Added, d)
		}
	}
	return mt.plan, mt.problems
}

type matcher struct {
	plan     *Plan
	problems problem.List
}

func (mt *matcher) touch(t Touch) {
	found, wraps := mt.plan.Module.Lookup(t.Key), t.How == syntax.Wrap
	t.All = mt.plan.Theirs(t)
	twice := slices.IndexFunc(mt.plan.Touches, func(other Touch) bool { return other.Key == t.Key })
	rooted := slices.IndexFunc(t.All, (*syntax.Decl).Rooted)
	mend, message := "", ""
	switch {
	case len(found) == 0:
		mend = "look for what replaced it, move our file to the folder that has it, or remove the directive"
		message = fmt.Sprintf("upstream %s has no such declaration in %s", mt.plan.Module.Version, t.Key.Package)
	case twice >= 0:
		other := mt.plan.Touches[twice]
		mend, message = "keep one of them", fmt.Sprintf("it has another directive (%s:%d)", other.File.From, other.Line)
	case t.Ours == nil && t.Key.Public() && !found[0].File.IsTest():
		mend, message = "keep it: applications may use it", "it is exported from "+t.Key.Package
	case t.Ours != nil && len(found) > 1:
		mend = "declare something new and call it from upstream's seams instead"
		message = fmt.Sprintf("upstream has several under different build constraints (%s)", syntax.Places(found))
	case wraps && (t.Ours.Func == nil || found[0].Func == nil):
		mend, message = "use //fork:replace", fmt.Sprintf("only functions and methods can be wrapped (%s)", found[0].At())
	case wraps && !syntax.Mentions(t.Ours.Func, t.Wrapped):
		mend, message = "call it, or use //fork:replace", "ours never uses "+t.Wrapped
	case rooted >= 0:
		mend = "keep it, and declare something else"
		message = fmt.Sprintf("it shares a line, or its value depends on its place in a group with iota (%s)", t.All[rooted].At())
	case t.Ours != nil && (t.File.Constraint != found[0].File.Constraint || t.File.IsTest() != found[0].File.IsTest()):
		mend = "give our file the constraint of upstream's"
		message = fmt.Sprintf("ours (%s) is for other builds than upstream's (%s)", syntax.Places([]*syntax.Decl{t.Ours}),
			syntax.Places(found))
	default:
		t.Theirs = found[0]
		mt.plan.Touches = append(mt.plan.Touches, t)
		return
	}
	mt.problems.Add(t.File.From, t.Line, mend, "//fork:%s %s: %s", t.How, t.Key.Name, message)
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
