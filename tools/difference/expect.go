package difference

import (
	"fmt"

	"mongofork/tools/gotest"
)

// Expectation is a regression that the skip list names.
type Expectation struct {
	Skip
	Change
}

// Expect moves the regressions that the list names to Expected, and returns the list's mistakes: entries whose test passes in the
// fork, and entries whose test neither tree has. The list is that of this suite; module is the path of the module whose packages
// the entries name.
func (d *Difference) Expect(list []Skip, module string) []error {
	byKey := map[gotest.Key]Skip{}
	for _, skip := range list {
		byKey[gotest.Key{Package: module + "/" + skip.Package, Test: skip.Test}] = skip
	}
	var rest []Change
	for _, change := range d.Regressed {
		if skip, ok := byKey[change.Key]; ok {
			d.Expected = append(d.Expected, Expectation{Skip: skip, Change: change})
			continue
		}
		rest = append(rest, change)
	}
	d.Regressed = rest
	return d.stale(list, module)
}

// stale returns a problem for each entry that is no longer needed.
func (d *Difference) stale(list []Skip, module string) []error {
	passes, known := d.states()
	var problems []error
	for _, skip := range list {
		key := gotest.Key{Package: module + "/" + skip.Package, Test: skip.Test}
		switch {
		case passes[key]:
			problems = append(problems, fmt.Errorf("line %d: %s passes in the fork; remove the entry", skip.Line, skip))
		case !known[key]:
			problems = append(problems, fmt.Errorf("line %d: %s is no test that was run; correct its name or remove the entry", skip.Line, skip))
		}
	}
	return problems
}

// states returns which tests pass in the fork and which are known at all.
func (d *Difference) states() (passes, known map[gotest.Key]bool) {
	passes, known = map[gotest.Key]bool{}, map[gotest.Key]bool{}
	for _, key := range d.Passed {
		passes[key] = true
	}
	for _, change := range d.Fixed {
		passes[change.Key] = true
	}
	for _, e := range d.Expected {
		known[e.Change.Key] = true
	}
	for _, list := range [][]gotest.Case{d.Broken, d.Skipped} {
		for _, c := range list {
			known[c.Key] = true
		}
	}
	for _, key := range d.Gone {
		known[key] = true
	}
	return passes, known
}
