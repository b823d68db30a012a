// Package layer lays an overlay over a module, layer by layer. Each layer is matched with the result of the layers before it, so it can
// wrap or replace what an earlier one wrapped, replaced or added.
package layer

import (
	"errors"
	"fmt"
	"go/ast"
	"maps"
	"path"
	"slices"

	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
	"mongofork/tools/fork/upstream"
)

// Lay returns what an overlay changes in a module, and the resulting tree; if a layer has problems, no tree.
func Lay(m *upstream.Module, o *plan.Overlay) (*plan.Plan, filetree.Tree, problem.List, error) {
	laid, problems, err := On(m).Lay(o)
	if err != nil {
		return nil, nil, nil, err
	}
	if laid.Plan.Overlay = o; len(problems) > 0 {
		return laid.Plan, nil, problems, nil
	}
	return laid.Plan, laid.Tree, nil, nil
}

// Laid is a module with some layers.
type Laid struct {
	// Plan is what the layers change in the module.
	Plan *plan.Plan
	// Tree is the result.
	Tree filetree.Tree

	at *upstream.Module // of the tree
}

// On is a module before the first layer.
func On(m *upstream.Module) *Laid {
	return &Laid{Plan: &plan.Plan{Module: m, Overlay: &plan.Overlay{}}, Tree: assemble.Pristine(m), at: m}
}

// Lay returns the module with the layers of an overlay, too. A later layer may touch declarations of an earlier one. If a layer has
// problems, Lay does not try the later ones, and only the Plan is of use.
func (l *Laid) Lay(o *plan.Overlay) (*Laid, problem.List, error) {
	before := l.Plan.Overlay
	next := &Laid{Plan: &plan.Plan{Module: l.Plan.Module}, Tree: l.Tree, at: l.at}
	next.Plan.Overlay = &plan.Overlay{Files: slices.Concat(before.Files, o.Files), Edits: slices.Concat(before.Edits, o.Edits)}
	next.Plan.Touches, next.Plan.Added = slices.Clone(l.Plan.Touches), slices.Clone(l.Plan.Added)
	for _, layer := range layers(o) {
		err := next.add(layer)
		var problems problem.List
		if errors.As(err, &problems) {
			return next, problems, nil
		} else if err != nil {
			return nil, nil, err
		}
	}
	return next, nil, nil
}

// add lays one layer. Its error is a problem.List if the layer does not fit.
func (l *Laid) add(layer *plan.Overlay) error {
	p, problems := match(l.at, layer, l.Plan)
	l.Plan.Touches, l.Plan.Added = append(l.Plan.Touches, p.Touches...), append(l.Plan.Added, p.Added...)
	if err := problems.OrNil(); err != nil {
		return err
	}
	tree, err := assemble.Build(p)
	if err != nil {
		return err
	}
	if err := edit(p.Module, layer.Edits, tree, l.Plan).OrNil(); err != nil {
		return err
	}
	l.Tree = tree
	l.at, err = l.at.With(tree)
	return err
}

// layers returns the layers of an overlay, in order.
func layers(o *plan.Overlay) (all []*plan.Overlay) {
	by := map[int]*plan.Overlay{}
	of := func(layer int) *plan.Overlay {
		if by[layer] == nil {
			by[layer] = &plan.Overlay{}
		}
		return by[layer]
	}
	for _, f := range o.Files {
		of(f.Layer).Files = append(of(f.Layer).Files, f)
	}
	for _, e := range o.Edits {
		of(e.Layer).Edits = append(of(e.Layer).Edits, e)
	}
	for _, layer := range slices.Sorted(maps.Keys(by)) {
		all = append(all, by[layer])
	}
	return all
}

// match matches a layer. Where an earlier layer has wrapped the same function, what that wraps gets another name.
func match(m *upstream.Module, layer *plan.Overlay, whole *plan.Plan) (*plan.Plan, problem.List) {
	p, problems := plan.Match(m, layer)
	renamed := maps.Clone(m.Tree)
	for _, t := range p.Touches {
		if t.How != syntax.Wrap || len(m.Lookup(plan.WrappedKey(t))) == 0 {
			continue
		}
		free := rename(m, renamed, path.Dir(t.Theirs.File.Path), t.Wrapped)
		for i, earlier := range whole.Touches {
			if earlier.Wrapped == t.Wrapped && path.Dir(earlier.Theirs.File.Path) == path.Dir(t.Theirs.File.Path) {
				whole.Touches[i].Wrapped = free
			}
		}
	}
	if len(filetree.Changed(m.Tree, renamed)) == 0 || len(problems) > 0 {
		return p, problems
	}
	m, err := m.With(renamed)
	if err != nil {
		problems.Add(layer.Files[0].Path, 0, "", "%v", err)
		return p, problems
	}
	return plan.Match(m, layer)
}

// rename gives a function that an earlier layer has wrapped another name, upstreamConnect1 for upstreamConnect, in all files of its folder.
// Such names are only the builder's, so that they mean the same wherever they stand.
func rename(m *upstream.Module, to filetree.Tree, folder, name string) (free string) {
	files := m.Package(folder).Files
	taken := func(name string) bool {
		return slices.ContainsFunc(files, func(f *syntax.File) bool { return syntax.Mentions(f.AST, name) })
	}
	free = name
	for i := 1; taken(free); i++ {
		free = fmt.Sprintf("%s%d", name, i)
	}
	for _, f := range files {
		var edits []assemble.Edit
		for n := range ast.Preorder(f.AST) {
			if id, ok := n.(*ast.Ident); ok && id.Name == name {
				at := f.Offset(id.Pos())
				edits = append(edits, assemble.Edit{Start: at, End: at + len(name), Text: []byte(free)})
			}
		}
		if src, err := assemble.Splice(f.Src, edits); err == nil && len(edits) > 0 { // identifiers do not overlap
			to[f.Path] = src
		}
	}
	return free
}

// edit makes a layer's edits in a tree, and adds them to the plan.
func edit(m *upstream.Module, edits []plan.Edit, tree filetree.Tree, whole *plan.Plan) (ps problem.List) {
	for _, e := range edits {
		if err := apply(e, tree); err != nil {
			ps.Add(e.From, 0, "name one place that exists", "%v", err)
			continue
		}
		t := plan.Touch{How: syntax.Edit, Key: e.In, Reason: e.At, File: &syntax.File{Path: e.From}, All: m.Lookup(e.In)}
		whole.Touches = append(whole.Touches, t)
	}
	return ps
}
