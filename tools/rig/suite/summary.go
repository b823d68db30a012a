package suite

import (
	"fmt"
	"strings"

	"mongofork/tools/difference"
	"mongofork/tools/rig/report"
)

// summarize adds the difference except the regressions to the suite.
func summarize(s *report.Suite, d *difference.Difference) {
	s.Passed += len(d.Passed) + len(d.Fixed)
	for range d.Broken {
		s.AddSkips("fails upstream too")
	}
	for _, c := range d.Skipped {
		s.AddSkips(tidyReason(c.Reason()))
	}
	for _, e := range d.Expected {
		s.AddSkips(fmt.Sprintf("asserts what the specification changed: %s (instead: %s)", e.Reason, e.Successor))
	}
	var unsteady []string
	for _, u := range d.Unsteady {
		how := "does not pass upstream either"
		if u.PassesInFork {
			s.Passed++
			how = "passes"
		} else {
			s.AddSkips("fails upstream too, when repeated")
		}
		unsteady = append(unsteady, fmt.Sprintf("%s (repetition %d %s)", u.Key, u.Attempts, how))
	}
	s.Note = joinNotes(s.Note,
		count(len(d.Broken), "fail upstream too"), count(len(d.Expected), "expected to differ"),
		count(len(d.Fixed), "pass in the fork only"), count(len(d.Gone), "gone"),
		count(len(unsteady), "decided by repetition"))
	s.Remarks = append(s.Remarks, remark("passes in the fork only", names(d.Fixed))...)
	s.Remarks = append(s.Remarks, remark("decided by repetition", unsteady)...)
	var gone []string
	for _, key := range d.Gone {
		gone = append(gone, key.String())
	}
	s.Remarks = append(s.Remarks, remark("not in the fork, and did not pass upstream", gone)...)
}

func count(n int, what string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d %s", n, what)
}

func names(changes []difference.Change) []string {
	var all []string
	for _, change := range changes {
		all = append(all, change.Key.String())
	}
	return all
}

// remark lists names under a title, or nothing if there are none.
func remark(title string, names []string) []string {
	if len(names) == 0 {
		return nil
	}
	shown := names
	if len(names) > namesShown {
		shown = append(append([]string(nil), names[:namesShown]...), fmt.Sprintf("and %d more", len(names)-namesShown))
	}
	return []string{fmt.Sprintf("%s (%d):\n  %s", title, len(names), strings.Join(shown, "\n  "))}
}
