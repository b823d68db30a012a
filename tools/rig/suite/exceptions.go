package suite

import (
	"fmt"
	"strings"

	"mongofork/tools/rig/report"
)

// Exception names a test, or a file of tests, whose cases may fail, and the reason.
type Exception struct{ Name, Reason string }

// ParseExceptions reads exceptions from lines of a name and a reason. Empty lines and those that begin with # are ignored.
func ParseExceptions(text string) ([]Exception, error) {
	var all []Exception
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, ok := strings.Cut(line, " ")
		if !ok {
			return nil, fmt.Errorf("line %d: %q has no reason; write one after the name", i+1, line)
		}
		all = append(all, Exception{name, strings.TrimSpace(reason)})
	}
	return all, nil
}

// covers reports whether a failed case is one of the exception's.
func (e Exception) covers(f report.Failure) bool {
	return strings.HasSuffix(f.Name, "/"+e.Name) || strings.HasSuffix(f.Name, " "+e.Name) || strings.Contains(f.Name, "/"+e.Name+"/") ||
		strings.Contains(f.Name, " "+e.Name+"/")
}

// except turns the failures that exceptions cover into skips. It remarks on an exception that covers none, which may be chance.
func except(suites []report.Suite, exceptions []Exception) {
	used := make([]bool, len(exceptions))
	for i := range suites {
		var left []report.Failure
		for _, f := range suites[i].Failures {
			if j := covering(exceptions, f); j >= 0 {
				used[j] = true
				suites[i].AddSkips("differs: " + exceptions[j].Reason)
			} else {
				left = append(left, f)
			}
		}
		suites[i].Failures = left
	}
	for j, e := range exceptions {
		if last := len(suites) - 1; !used[j] && last >= 0 {
			suites[last].Remarks = append(suites[last].Remarks,
				e.Name+" is an exception, but no case of it failed; if that stays so, remove it from the exceptions")
		}
	}
}

// covering returns the number of the exception that covers a failure, or -1.
func covering(exceptions []Exception, f report.Failure) int {
	for i, e := range exceptions {
		if e.covers(f) {
			return i
		}
	}
	return -1
}
