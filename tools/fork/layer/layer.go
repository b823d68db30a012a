// Package layer lays an overlay over a module, layer by layer. Each layer is matched with the result of the layers before it, so it can
// wrap or replace a function of upstream's that an earlier one wrapped or replaced.
package layer

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
	"mongofork/tools/fork/upstream"
)

// Lay returns what an overlay changes in a module, and the resulting tree; if a layer has problems, the tree before it.
func Lay(m *upstream.Module, o plan.Overlay) (*plan.Plan, filetree.Tree, problem.List, error) {
	laid, problems, err := On(m).Lay(slices.DeleteFunc(slices.Clone(o), func(layer *plan.Layer) bool { return layer.Alone })...)
	if err != nil {
		return nil, nil, nil, err
	}
	laid.Plan.All = o
	return laid.Plan, laid.Module.Tree, problems, nil
}

// Laid is a module with some layers.
type Laid struct {
	// Plan is what the layers change in the module.
	Plan *plan.Plan
	// Module is the result.
	Module *upstream.Module
}

// On is a module before the first layer.
func On(m *upstream.Module) *Laid {
	pristine := *m
	pristine.Tree = assemble.Pristine(m)
	return &Laid{Plan: &plan.Plan{Module: m}, Module: &pristine}
}

// Lay returns the module with more layers. If a layer has problems, Lay does not
// try the later ones, and only the Plan is of use.
func (l *Laid) Lay(layers ...*plan.Layer) (*Laid, problem.List, error) {
	p := *l.Plan
	p.Overlay, p.Touches, p.Added = slices.Clone(p.Overlay), slices.Clone(p.Touches), slices.Clone(p.Added)
	next := &Laid{Plan: &p, Module: l.Module}
	for _, layer := range layers {
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
func (l *Laid) add(layer *plan.Layer) error {
	if err := l.rename(layer); err != nil {
		return err
	}
	p, problems := plan.Match(l.Module, layer)
	earlier := l.Plan.Touches
	for _, t := range p.Touches {
		l.refuse(t, earlier, &problems)
	}
	l.Plan.Overlay = append(l.Plan.Overlay, layer)
	l.Plan.Touches, l.Plan.Added = append(l.Plan.Touches, p.Touches...), append(l.Plan.Added, p.Added...)
	if err := problems.OrNil(); err != nil {
		return err
	}
	tree, err := assemble.Build(p)
	if err != nil {
		return err
	}
	for _, e := range layer.Edits {
		from := path.Join(layer.Name, plan.EditsFile)
		if err := apply(e, tree); err != nil {
			problems.Add(from, e.Line, "name one place that exists", "%v", err)
		}
		edit := plan.Touch{How: syntax.Edit, Key: e.In, Reason: e.At,
			File: &syntax.File{Path: from}, Line: e.Line, All: l.Module.Lookup(e.In)}
		l.refuse(edit, earlier, &problems)
		l.Plan.Touches = append(l.Plan.Touches, edit)
	}
	if err := problems.OrNil(); err != nil {
		return err
	}
	l.Module, err = l.Module.With(tree)
	return err
}

// refuse adds a problem if a layer changes what another one has written. It may add fields to a struct, and wrap or replace a function of
// upstream's again, of which all keep the contract.
func (l *Laid) refuse(t plan.Touch, earlier []plan.Touch, problems *problem.List) {
	const mend = "let the other layer's code call this one's, by a function that may be nil, a value, or an interface"
	isText := t.How == syntax.Edit || t.How == syntax.Extend && t.Ours.Func != nil
	ours := slices.IndexFunc(earlier, func(e plan.Touch) bool {
		return isText && e.Key == t.Key && (e.How == syntax.Replace || e.How == syntax.Wrap)
	})
	switch {
	case len(t.All) == 0: // there is no such declaration, as another problem says
	case ours >= 0:
		other := earlier[ours]
		problems.Add(t.File.Path, t.Line, mend, "%s %s: its text is that of another layer (%s:%d)", t.How, t.Key, other.File.Path, other.Line)
	case len(l.Plan.Theirs(t)) == 0 && (isText || t.How != syntax.Extend):
		problems.Add(t.File.Path, t.Line, mend, "%s %s: another layer has added it (%s)", t.How, t.Key, syntax.Places(t.All))
	}
}

// rename gives what earlier layers have wrapped another name, upstreamConnect1 for upstreamConnect, where a layer wraps the same function
// again, in all files of the folder. Such names are only the builder's, so that they mean the same wherever they stand.
func (l *Laid) rename(layer *plan.Layer) (err error) {
	for _, f := range layer.Files {
		for _, d := range f.Decls {
			name := plan.UpstreamName(d.Bare())
			wrapped := syntax.Key{Package: d.Key.Package, Name: strings.TrimSuffix(d.Key.Name, d.Bare()) + name}
			if d.Directive == nil || d.Directive.Verb != syntax.Wrap || len(l.Module.Lookup(wrapped)) == 0 {
				continue
			}
			files, tree, free := l.Module.Files(path.Dir(f.Path)), maps.Clone(l.Module.Tree), name
			mentioned := func(f *syntax.File) bool { return syntax.Mentions(f.AST, free) }
			for i := 1; slices.ContainsFunc(files, mentioned); i++ {
				free = fmt.Sprint(name, i)
			}
			for _, f := range files {
				tree[f.Path] = regexp.MustCompile(`\b`+name+`\b`).ReplaceAll(f.Src, []byte(free))
			}
			for i, earlier := range l.Plan.Touches {
				if earlier.Wrapped == name && path.Dir(earlier.Theirs.File.Path) == path.Dir(f.Path) {
					l.Plan.Touches[i].Wrapped = free
				}
			}
			if l.Module, err = l.Module.With(tree); err != nil {
				return err
			}
		}
	}
	return nil
}
