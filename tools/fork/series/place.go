// Package series tells the overlay as a series of patches: which step brings what, the tree after each step, and whether each patch
// stands by itself.
package series

import (
	"maps"
	"os"
	"path/filepath"
	"slices"

	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
)

// Series tells the overlay of one base step by step.
type Series struct {
	Options Options
	Fixes   []Fix
	Steps   []Step

	root   string
	plan   *plan.Plan // of the whole overlay
	files  map[string]int
	fields map[syntax.Key]int
}

// never is the number of the step of what stays out of the series: it is later than every step.
func (s *Series) never() int { return len(s.Steps) }

// New reads the steps of a repository and finds each part of the overlay in one of them.
func New(root string, whole *plan.Plan) (*Series, error) {
	var ps problem.List
	s, err := placedSeries(root, whole, &ps)
	if err != nil {
		return nil, err
	}
	for _, f := range whole.Overlay.Files {
		if _, ok := s.files[f.Path]; !ok {
			ps.Add(f.Path, 0, "list it in a file of "+Folder, "no step of the series brings this file")
		}
	}
	for i, step := range s.Steps {
		s.checkBefore(i, step, &ps)
	}
	return s, ps.OrNil()
}

// placedSeries reads the steps and what each of them brings.
func placedSeries(root string, whole *plan.Plan, ps *problem.List) (*Series, error) {
	steps, opt, err := ReadSteps(root)
	if err != nil {
		return nil, err
	}
	fixes, err := ReadFixes(root, whole.Module.Version)
	if err != nil {
		return nil, err
	}
	s := &Series{Options: opt, Fixes: fixes, Steps: steps, root: root, plan: whole, files: map[string]int{},
		fields: map[syntax.Key]int{}}
	s.place(ps)
	return s, nil
}

// place reads from the steps which of them brings what.
func (s *Series) place(ps *problem.List) {
	for i, step := range s.Steps {
		step.complete(ps)
		s.placeFiles(i, step.File(), step.Files, ps)
		s.placeFields(i, step, ps)
	}
	for _, fix := range s.Fixes {
		s.placeFiles(s.never(), fix.File(), fix.Files, ps) // the fix brings them itself
		if fix.Until != "" && s.until(fix) == s.never() {
			ps.Add(fix.File(), 0, "name a step", "until: there is no step %s", fix.Until)
		}
	}
	for _, left := range s.Options.Left {
		s.placeFiles(s.never(), Folder+"/"+Setup, left.Files, ps)
		if left.Reason == "" {
			ps.Add(Folder+"/"+Setup, 0, "say why", "files are left out without a reason")
		}
	}
	for _, file := range slices.Sorted(maps.Keys(s.Options.Files)) {
		if !hasFile(s.root, file) {
			ps.Add(Folder+"/"+Setup, 0, "remove it from the list, or correct its name", "the overlay has no file %s", file)
		}
	}
}

func (s *Series) placeFiles(i int, at string, files []string, ps *problem.List) {
	for _, file := range files {
		if _, twice := s.files[file]; twice {
			ps.Add(at, 0, "keep one of them", "%s is listed twice in the series", file)
		}
		if !hasFile(s.root, file) {
			ps.Add(at, 0, "remove it from the list, or correct its name", "the overlay has no file %s", file)
		}
		s.files[file] = i
	}
}

func (s *Series) placeFields(i int, step Step, ps *problem.List) {
	for _, text := range step.Fields {
		key, err := syntax.ParseKey(text)
		if err != nil {
			ps.Add(step.File(), 0, "write it as docs/builder.md says", "fields: %v", err)
			continue
		}
		if _, twice := s.fields[key]; twice {
			ps.Add(step.File(), 0, "keep one of them", "%s is listed twice in the series", key)
		}
		s.fields[key] = i
	}
}

// fixesAfter returns the fixes that are there after a step.
func (s *Series) fixesAfter(last int) []Fix {
	var fixes []Fix
	for i, fix := range s.Fixes {
		if i-len(s.Fixes) <= last && last < s.until(fix) {
			fixes = append(fixes, fix)
		}
	}
	return fixes
}

// until returns the number of the step that removes a fix.
func (s *Series) until(fix Fix) int {
	if i := slices.IndexFunc(s.Steps, func(step Step) bool { return step.Name == fix.Until }); i >= 0 {
		return i
	}
	return s.never()
}

// hasFile reports whether a repository has a regular file of this path.
func hasFile(root, name string) bool {
	info, err := os.Stat(filepath.Join(root, filepath.FromSlash(name)))
	return err == nil && info.Mode().IsRegular()
}
