package series

import (
	"bytes"
	"fmt"
	"go/format"

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
	if at := len(s.Fixes) + step; step < s.never() {
		return s.Commits()[at].Name
	}
	return "the last step"
}

// form returns a file as it is after a step; nil if it is not there yet.
func (s *Series) form(f *plan.File, last int) ([]byte, error) {
	if s.files[f.Path] > last {
		return nil, nil
	}
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
