// Package plan matches an overlay with the module that it is laid over: what its directives assert is looked up in the module and
// compared with the lock. It writes nothing but the lock's text.
package plan

import (
	"fmt"
	"path"

	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
	"mongofork/tools/fork/upstream"
)

// Touch is a declaration of ours laid over one of upstream's.
type Touch struct {
	How    syntax.Verb
	Key    syntax.Key
	Reason string
	Ours   *Decl
	Theirs *syntax.Decl
	// Hash is the fingerprint of upstream's declaration.
	Hash syntax.Fingerprint
}

// Plan is an overlay whose every directive has found its upstream declaration.
type Plan struct {
	Module  *upstream.Module
	Overlay *Overlay
	Touches []Touch
	Added   []*Decl
	Removed []Removed
}

// Match looks up what each overlay declaration is about and checks what its
// directive, or the lack of one, asserts. The plan holds what did match.
func Match(m *upstream.Module, o *Overlay) (*Plan, problem.List, error) {
	mt := matcher{plan: &Plan{Module: m, Overlay: o}, owner: map[syntax.Key]*Decl{}}
	for _, f := range o.Files {
		if err := mt.file(f); err != nil {
			return nil, nil, err
		}
	}
	for _, f := range o.Files {
		for _, d := range f.Decls {
			if err := mt.decl(d); err != nil {
				return nil, nil, err
			}
		}
		for _, r := range f.Removals {
			if err := mt.removal(r); err != nil {
				return nil, nil, err
			}
		}
	}
	for _, t := range mt.plan.Touches {
		if err := mt.relations(t); err != nil {
			return nil, nil, err
		}
	}
	return mt.plan, mt.problems, nil
}

type matcher struct {
	plan     *Plan
	problems problem.List
	owner    map[syntax.Key]*Decl
}

// file checks the file's name and package clause and completes its keys.
func (mt *matcher) file(f *File) error {
	if _, taken := mt.plan.Module.Tree[f.Path]; taken {
		mt.problems.Add(f.Path, 0, "rename the file", "upstream has a file of this name (%s)", f.Path)
	}
	if f.Source == nil {
		return nil
	}
	folder := path.Dir(f.Path)
	p, err := mt.plan.Module.Package(folder)
	if err != nil {
		return err
	}
	if p.Name == "" { // upstream lacks the folder
		p = syntax.NewPackage(folder, []*syntax.File{f.Source})
	}
	pkg, ok := p.PackageOf(f.Source)
	if !ok {
		mt.problems.Add(f.Path, f.Source.Line(f.Source.AST.Package), "write: package "+p.Name,
			"package %s, but upstream's package in %s is %s", f.Source.AST.Name.Name, folder, p.Name)
		pkg = folder // so that the file's other problems are found too
	}
	for _, d := range f.Decls {
		d.Key.Package = pkg
		if d.Unnamed() {
			continue
		}
		if first, twice := mt.owner[d.Key]; twice {
			mt.problems.Add(f.Path, d.Line, "keep one of them", "%s is declared twice in the overlay (also %s)", d.Key,
				first.At())
			continue
		}
		mt.owner[d.Key] = d
	}
	return nil
}

// decl matches one declaration with upstream's of the same key.
func (mt *matcher) decl(d *Decl) error {
	if d.Unnamed() {
		mt.plan.Added = append(mt.plan.Added, d)
		return nil
	}
	found, err := mt.plan.Module.Lookup(d.Key)
	if err != nil {
		return err
	}
	if d.Directive == nil {
		if len(found) > 0 {
			mt.fail(d, "rename it, or add //fork:replace or //fork:wrap with a reason",
				"%s is new here, but upstream has it (%s)", d.Key.Name, syntax.Places(found))
		}
		mt.plan.Added = append(mt.plan.Added, d)
		return nil
	}
	if mt.touchable(d, found) {
		mt.plan.Touches = append(mt.plan.Touches, Touch{
			How: d.Directive.Verb, Key: d.Key, Reason: d.Directive.Reason,
			Ours: d, Theirs: found[0], Hash: syntax.FingerprintOf(found[0]),
		})
	}
	return nil
}

func (mt *matcher) fail(d *Decl, mend, format string, args ...any) {
	what := ""
	if d.Directive != nil {
		what = fmt.Sprintf("//fork:%s %s: ", d.Directive.Verb, d.Key.Name)
	}
	mt.problems.Add(d.File.Path, d.Line, mend, "%s", what+fmt.Sprintf(format, args...))
}

// Counts says how many declarations the plan touches, by directive.
func (p *Plan) Counts() string {
	count := map[syntax.Verb]int{}
	for e := range p.fingerprints() {
		count[e.How]++
	}
	return fmt.Sprintf("%d replaced, %d wrapped, %d extended, %d added, %d removed",
		count[syntax.Replace], count[syntax.Wrap], count[syntax.Extend], len(p.Added), count[syntax.Remove])
}
