package series

import (
	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
)

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

// goal returns the tree that a series has to lead to: the fork as it is built, but for the files that are left out, the licences and
// the names. The steps have no part in it.
func (s *Series) goal() (filetree.Tree, error) {
	o := &plan.Overlay{}
	for _, f := range s.plan.Overlay.Files {
		if s.files[f.Path] != s.never() {
			o.Files = append(o.Files, f)
		}
	}
	kept, problems, err := plan.Match(s.plan.Module, o)
	if err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		return nil, problems
	}
	built, err := assemble.Build(kept)
	if err != nil {
		return nil, err
	}
	return s.named(kept, assemble.Licensed(assemble.Pristine(kept.Module), built))
}
