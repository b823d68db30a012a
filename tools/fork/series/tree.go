package series

import (
	"bytes"
	"errors"
	"fmt"
	"go/format"
	"maps"
	"slices"

	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
	"mongofork/tools/fork/upstream"
)

// Tree returns upstream's tree as it is after a step. The number of steps stands for the whole overlay, with what is left out and without
// the fixes, as it has its own.
func (s *Series) Tree(last int) (t filetree.Tree, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("after %s the overlay does not fit: %w", s.Steps[min(last, s.never()-1)].Name, err)
		}
	}()
	o := &plan.Overlay{}
	var ps problem.List
	for _, f := range s.plan.Overlay.Files {
		if s.files[f.Path] > last {
			continue
		}
		data, err := s.form(f, last)
		if err != nil {
			return nil, err
		}
		if form := o.ReadFile(f.Path, data, s.plan.Module.Version, &ps); form != nil {
			o.Files = append(o.Files, form)
		}
	}
	if ps.OrNil() != nil {
		return nil, ps
	}
	var fixes []Step
	for i, fix := range s.Steps[:s.fixes] {
		if i <= last && last < s.until(fix) {
			fixes = append(fixes, fix)
		}
	}
	p, tree, err := lay(s.plan.Module, o, fixes...)
	if err != nil {
		return nil, err
	}
	return s.named(p, tree)
}

// lay lays an overlay over a module with fixes, as it is in upstream's tree.
func lay(m *upstream.Module, o *plan.Overlay, fixes ...Step) (*plan.Plan, filetree.Tree, error) {
	var ps problem.List
	for _, fix := range fixes {
		for _, file := range fix.archive {
			if read := o.ReadFile(file.Name, file.Data, m.Version, &ps); read != nil {
				o.Files = append(o.Files, read)
			}
		}
	}
	if ps.OrNil() != nil {
		return nil, nil, ps
	}
	p, ps := plan.Match(m, o)
	if len(ps) > 0 {
		return nil, nil, ps
	}
	built, err := assemble.Build(p)
	if err != nil {
		return nil, nil, err
	}
	tree := assemble.Licensed(assemble.Pristine(m), built)
	for _, fix := range fixes {
		if err := fix.edit(p, tree); err != nil {
			return nil, nil, err
		}
	}
	return p, tree, nil
}

// edit makes a fix's edits in a tree.
func (s Step) edit(p *plan.Plan, tree filetree.Tree) error {
	for _, edit := range s.Edits {
		if slices.ContainsFunc(p.Touches, func(t plan.Touch) bool { return t.Key.String() == edit.In && t.How != syntax.Extend }) {
			continue
		}
		if err := edit.apply(tree); err != nil {
			return fmt.Errorf("%s: %w", s.from, err)
		}
	}
	return nil
}

// form returns a file as it is after a step.
func (s *Series) form(f *plan.File, last int) ([]byte, error) {
	if f.Source == nil {
		return f.Data, nil
	}
	data, err := s.asBefore(f, last)
	if err != nil {
		return nil, err
	}
	source, err := syntax.Parse(f.Path, data)
	if err != nil {
		return nil, err
	}
	cuts := s.lateFields(source, last)
	if bytes.Equal(data, f.Data) && len(cuts) == 0 {
		return f.Data, nil
	}
	if data, err = assemble.Splice(data, cuts); err != nil {
		return nil, err
	}
	// Some imports are for what comes later.
	if data, err = assemble.WithImports(f.Path, data, nil); err != nil {
		return nil, err
	}
	return format.Source(data)
}

// named gives files and wrapped declarations the names that they have in upstream's tree.
func (s *Series) named(plan *plan.Plan, t filetree.Tree) (filetree.Tree, error) {
	out := maps.Clone(t)
	for from, to := range s.Options.Files {
		if data, ok := out[from]; ok {
			if _, taken := out[to]; taken {
				return nil, fmt.Errorf("%s cannot be named %s: there is a file of this name", from, to)
			}
			delete(out, from)
			out[to] = data
		}
	}
	return out, errors.Join(nameWrapped(plan, out), s.keepComments(plan, out))
}
