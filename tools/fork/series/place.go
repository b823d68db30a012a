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
)

// Series tells the overlay of one base step by step.
type Series struct {
	Options Options
	// Steps are the fixes, and then the steps of the overlay.
	Steps []Step

	fixes  int // how many of the steps are fixes
	root   string
	plan   *plan.Plan // of the whole overlay
	files  map[string]int
	fields map[string]int
}

// never is the number of the step of what stays out of the series: it is later than every step.
func (s *Series) never() int { return len(s.Steps) }

// New reads the steps of a repository and finds each part of the overlay in one of them.
func New(root string, whole *plan.Plan) (*Series, error) {
	opt, err := ReadOptions(root)
	if err != nil {
		return nil, err
	}
	fixes, err := ReadFixes(root, whole.Module.Version)
	if err != nil {
		return nil, err
	}
	steps, err := read(root, Folder+"/[0-9]*")
	if err != nil {
		return nil, err
	}
	s := &Series{Options: opt, Steps: append(fixes, steps...), fixes: len(fixes), root: root, plan: whole,
		files: map[string]int{}, fields: map[string]int{}}
	var ps problem.List
	s.place(&ps)
	for _, f := range whole.Overlay.Files {
		if _, ok := s.files[f.Path]; !ok {
			ps.Add(f.Path, 0, "list it in a file of "+Folder, "no step of the series brings this file")
		}
	}
	return s, ps.OrNil()
}

// place finds out which step brings what.
func (s *Series) place(ps *problem.List) {
	for i, step := range s.Steps {
		s.exist(step.from, step.Files, ps)
		if i < s.fixes {
			put(s.files, s.never(), step.from, step.Files, ps) // the fix brings them itself
			if step.Until != "" && s.until(step) == s.never() {
				ps.Add(step.from, 0, "name a step", "until: there is no step %s", step.Until)
			}
			continue
		}
		step.complete(ps)
		for _, file := range step.archive {
			if _, before := s.files[file.Name]; !before {
				ps.Add(step.from, 0, "list the file in an earlier step", "it changes %s, which no earlier step brings",
					file.Name)
			}
		}
		put(s.files, i, step.from, step.Files, ps)
		put(s.fields, i, step.from, step.Fields, ps)
	}
	for _, left := range s.Options.Left {
		s.exist(setup, left.Files, ps)
		put(s.files, s.never(), setup, left.Files, ps)
		if left.Reason == "" {
			ps.Add(setup, 0, "say why", "files are left out without a reason")
		}
	}
	s.exist(setup, slices.Sorted(maps.Keys(s.Options.Files)), ps)
}

// put notes that a step brings what a list names.
func put(in map[string]int, i int, at string, list []string, ps *problem.List) {
	for _, name := range list {
		if _, twice := in[name]; twice {
			ps.Add(at, 0, "keep one of them", "%s is listed twice in the series", name)
		}
		in[name] = i
	}
}

// exist checks that a repository has these files.
func (s *Series) exist(at string, files []string, ps *problem.List) {
	for _, file := range files {
		if info, err := os.Stat(filepath.Join(s.root, filepath.FromSlash(file))); err != nil || !info.Mode().IsRegular() {
			ps.Add(at, 0, "remove it from the list, or correct its name", "the overlay has no file %s", file)
		}
	}
}

// until returns the number of the step that removes a fix.
func (s *Series) until(fix Step) int {
	if i := slices.IndexFunc(s.Steps, func(step Step) bool { return step.Name == fix.Until }); i >= 0 {
		return i
	}
	return s.never()
}
