package fork

import (
	"bytes"
	"fmt"
	"go/format"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
)

// Series tells the overlay of one base step by step.
type Series struct {
	Options SeriesOptions
	Steps   []Step

	plan  *plan.Plan // of the whole overlay
	files map[string]int
	decls map[syntax.Key]int
}

// never is the number of the step of what stays out of the series: it is later than every step.
func (s *Series) never() int { return len(s.Steps) }

// Series reads the steps and finds each part of the overlay in one of them.
func (p *Project) series(plan *plan.Plan) (*Series, error) {
	var ps problem.List
	s, err := p.placedSeries(plan, &ps)
	if err != nil {
		return nil, err
	}
	s.checkDecls(p, &ps)
	for _, f := range plan.Overlay.Files {
		if _, ok := s.files[f.Path]; !ok {
			ps.Add(f.Path, 0, "list it in a file of "+SeriesFolder, "no step of the series brings this file")
		}
	}
	for i, step := range s.Steps {
		s.checkFragments(i, step, &ps)
	}
	return s, ps.OrNil()
}

// placedSeries reads the steps and what each of them brings.
func (p *Project) placedSeries(plan *plan.Plan, ps *problem.List) (*Series, error) {
	steps, opt, err := p.readSeries()
	if err != nil {
		return nil, err
	}
	s := &Series{Options: opt, Steps: steps, plan: plan, files: map[string]int{}, decls: map[syntax.Key]int{}}
	s.place(p, ps)
	return s, nil
}

// place reads from the steps which of them brings what.
func (s *Series) place(p *Project, ps *problem.List) {
	for i, step := range s.Steps {
		step.complete(ps)
		s.placeFiles(i, step.File(), step.Files, p.hasFile, ps)
		s.placeDecls(i, step, ps)
	}
	for _, left := range s.Options.Left {
		s.placeFiles(s.never(), SeriesFolder+"/"+SeriesSetup, left.Files, p.hasFile, ps)
		if left.Reason == "" {
			ps.Add(SeriesFolder+"/"+SeriesSetup, 0, "say why", "files are left out without a reason")
		}
	}
	for _, named := range []map[string]string{s.Options.Files, s.Options.Merged} {
		for _, file := range slices.Sorted(maps.Keys(named)) {
			if !p.hasFile(file) {
				ps.Add(SeriesFolder+"/"+SeriesSetup, 0, "remove it from the list, or correct its name", "the overlay has no file %s", file)
			}
		}
	}
	for _, finding := range s.Options.Findings {
		if finding.Reason == "" {
			ps.Add(SeriesFolder+"/"+SeriesSetup, 0, "say why", "a finding in %s is accepted without a reason", finding.File)
		}
	}
}

func (s *Series) placeFiles(i int, at string, files []string, exists func(string) bool, ps *problem.List) {
	for _, file := range files {
		if _, twice := s.files[file]; twice {
			ps.Add(at, 0, "keep one of them", "%s is listed twice in the series", file)
		}
		if !exists(file) {
			ps.Add(at, 0, "remove it from the list, or correct its name", "the overlay has no file %s", file)
		}
		s.files[file] = i
	}
}

func (s *Series) placeDecls(i int, step Step, ps *problem.List) {
	for _, text := range step.Declarations {
		key, err := syntax.ParseKey(text)
		if err != nil {
			ps.Add(step.File(), 0, "write it as docs/builder.md says", "declarations: %v", err)
			continue
		}
		if _, twice := s.decls[key]; twice {
			ps.Add(step.File(), 0, "keep one of them", "%s is listed twice in the series", key)
		}
		s.decls[key] = i
	}
}

// checkDecls checks that some base declares each key that is listed: those of other bases are in files that the plan has not read.
func (s *Series) checkDecls(p *Project, ps *problem.List) {
	declared := map[syntax.Key]bool{}
	for _, file := range slices.Sorted(maps.Keys(s.files)) {
		data, err := os.ReadFile(filepath.Join(p.Root, filepath.FromSlash(file)))
		if err != nil || !syntax.IsGoFile(file) {
			continue
		}
		source, err := syntax.Parse(file, data)
		if err != nil {
			continue // a problem of the plan
		}
		folder := path.Dir(file)
		if strings.HasSuffix(source.AST.Name.Name, "_test") {
			folder += "_test"
		}
		for _, d := range source.Decls {
			declared[syntax.Key{Package: folder, Name: d.Key.Name}] = true
		}
		for _, key := range fieldKeys(source, folder) {
			declared[key] = true
		}
	}
	for key, i := range s.decls {
		if !declared[key] {
			ps.Add(s.Steps[i].File(), 0, "remove it from the list, or correct its name", "no base of the overlay declares %s", key)
		}
	}
}

// checkFragments checks that the lines of each fragment are in their file once, if the base has the file.
func (s *Series) checkFragments(i int, step Step, ps *problem.List) {
	for _, f := range step.Fragments {
		at, listed := s.files[f.File]
		if !listed || at >= i {
			ps.Add(step.File(), 0, "list the file in an earlier step", "a fragment of %s, which no earlier step brings", f.File)
		}
		file := s.file(f.File)
		if file == nil {
			continue
		}
		if _, _, n := f.find(file.Data); n != 1 || f.Lines == "" {
			ps.Add(step.File(), 0, "copy the lines anew from the file", "a fragment of %s is there %d times, not once: %q", f.File, n, f.Lines)
		}
	}
}

func (s *Series) file(name string) *plan.File {
	i := slices.IndexFunc(s.plan.Overlay.Files, func(f *plan.File) bool { return f.Path == name })
	if i < 0 {
		return nil
	}
	return s.plan.Overlay.Files[i]
}

// declStep returns the step that brings a declaration.
func (s *Series) declStep(d *plan.Decl) int {
	if at, ok := s.decls[d.Key]; ok {
		return at
	}
	return s.files[d.File.Path]
}

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
	text, _, err := assemble.Splice(data, "", cuts)
	if err != nil {
		return nil, err
	}
	if source, err = syntax.Parse(f.Path, text); err != nil {
		return nil, err
	}
	names := plan.PackageNames(s.plan.Module, s.plan.Overlay)
	if text, _, err = assemble.Splice(text, "", assemble.UnusedImports(names, source)); err != nil {
		return nil, err
	}
	return format.Source(text)
}
