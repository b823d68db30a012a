package series

import (
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
)

// checkBefore checks that what a step changes is there before.
func (s *Series) checkBefore(i int, step Step, ps *problem.List) {
	for name := range step.Before {
		if at, listed := s.files[name]; !listed || at >= i {
			ps.Add(step.File(), 0, "list the file in an earlier step", "it changes %s, which no earlier step brings", name)
		}
	}
}

// Goal returns the tree that a series has to lead to: the fork as it is built, but for the files that are left out, the licences and
// the names, with the fixes. The steps have no part in it.
func (s *Series) Goal() (filetree.Tree, error) {
	o := &plan.Overlay{}
	for _, f := range s.plan.Overlay.Files {
		if s.files[f.Path] != s.never() {
			o.Files = append(o.Files, f)
		}
	}
	kept, tree, err := lay(s.plan.Module, o, s.fixesAfter(s.never()-1)...)
	if err != nil {
		return nil, err
	}
	return s.named(kept, tree)
}
