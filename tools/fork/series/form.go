package series

import (
	"bytes"
	"fmt"
	"go/format"
	"path"
	"slices"

	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
)

// overlay returns the overlay as it is after a step.
func (s *Series) overlay(last int) (*plan.Overlay, error) {
	o := &plan.Overlay{}
	var ps problem.List
	for _, f := range s.plan.Overlay.Files {
		data, err := s.form(f, last)
		if err != nil {
			return nil, fmt.Errorf("%s after %s: %w", f.Path, s.nameOf(last), err)
		}
		if data == nil {
			continue
		}
		if form := o.ReadFile(f.Path, data, s.plan.Module.Version, &ps); form != nil {
			o.Files = append(o.Files, form)
		}
	}
	return o, ps.OrNil()
}

func (s *Series) nameOf(step int) string {
	if step < len(s.Steps) {
		return s.Steps[step].Name
	}
	return "the last step"
}

// form returns a file as it is after a step; nil if it is not there yet.
func (s *Series) form(f *plan.File, last int) ([]byte, error) {
	if f.Source == nil {
		if s.files[f.Path] > last {
			return nil, nil
		}
		return f.Data, nil
	}
	late := func(d *plan.Decl) bool { return s.declStep(d) > last }
	switch {
	case s.files[f.Path] > last && !slices.ContainsFunc(f.Decls, func(d *plan.Decl) bool { return !late(d) }):
		return nil, nil
	case len(f.Decls) > 0 && !slices.ContainsFunc(f.Decls, func(d *plan.Decl) bool { return !late(d) }):
		return nil, nil
	}
	data, err := s.withoutFragments(f, last)
	if err != nil {
		return nil, err
	}
	fields := slices.ContainsFunc(fieldKeys(f.Source, packageOfFile(f)), func(k syntax.Key) bool { at, ok := s.decls[k]; return ok && at > last })
	if bytes.Equal(data, f.Data) && !fields && !slices.ContainsFunc(f.Decls, late) {
		return f.Data, nil
	}
	return s.reduced(f, data, last)
}

// packageOfFile returns the package part of the keys of a file's declarations.
func packageOfFile(f *plan.File) string {
	if len(f.Decls) > 0 {
		return f.Decls[0].Key.Package
	}
	return path.Dir(f.Path)
}

// withoutFragments returns the file without the lines of later steps, the latest of which is taken out first.
func (s *Series) withoutFragments(f *plan.File, last int) ([]byte, error) {
	data := f.Data
	for i := len(s.Steps) - 1; i > last; i-- {
		for _, fragment := range s.Steps[i].Fragments {
			if fragment.File != f.Path {
				continue
			}
			start, end, n := fragment.find(data)
			if n != 1 {
				return nil, fmt.Errorf("a fragment of %s is there %d times, not once: %q", s.Steps[i].Name, n, fragment.Lines)
			}
			data = slices.Concat(data[:start], []byte(fragment.Until), data[end:])
		}
	}
	return data, nil
}

// reduced takes the declarations of later steps out of a file, and the imports that nothing uses then.
func (s *Series) reduced(f *plan.File, data []byte, last int) ([]byte, error) {
	source, err := syntax.Parse(f.Path, data)
	if err != nil {
		return nil, err
	}
	folder := packageOfFile(f)
	cuts := s.lateFields(source, folder, last)
	for _, d := range source.Decls {
		at, ok := s.decls[syntax.Key{Package: folder, Name: d.Key.Name}]
		if !ok {
			at = s.files[f.Path]
		}
		if at > last {
			cuts = append(cuts, assemble.Cut(d))
		}
	}
	text, err := assemble.Splice(data, cuts)
	if err != nil {
		return nil, err
	}
	if text, err = assemble.WithImports(f.Path, text, nil); err != nil {
		return nil, err
	}
	return format.Source(text)
}
