package gotest

import (
	"slices"
	"sort"
	"strings"
)

// Result holds every test and package that one run of go test reported.
type Result struct {
	cases map[Key]Case
	// Stray holds the lines of the stream that are no events.
	Stray []string
}

// NewResult returns a result that holds the given cases.
func NewResult(cases ...Case) *Result {
	r := &Result{cases: make(map[Key]Case, len(cases))}
	for _, c := range cases {
		r.cases[c.Key] = c
	}
	return r
}

// Merge returns a result with the cases of all results. Of cases with the same key the last one counts.
func Merge(results ...*Result) *Result {
	merged := NewResult()
	for _, r := range results {
		for key, c := range r.cases {
			merged.cases[key] = c
		}
		merged.Stray = append(merged.Stray, r.Stray...)
	}
	return merged
}

// Without returns the result without the cases of some packages.
func (r *Result) Without(packages []string) *Result {
	kept := NewResult()
	for key, c := range r.cases {
		if !slices.Contains(packages, key.Package) {
			kept.cases[key] = c
		}
	}
	return kept
}

// Outcome returns the test's outcome, or Missing if the run did not have it.
func (r *Result) Outcome(key Key) Outcome { return r.cases[key].Outcome }

// Case returns the test of that key.
func (r *Result) Case(key Key) (Case, bool) {
	c, ok := r.cases[key]
	return c, ok
}

// Cases returns the cases that count, sorted. Those are the leaves, that is
// tests without subtests; a test with subtests where it failed and none of its
// subtests did; and a package where it failed and none of its tests did.
//
// Subtests are recognized by their names: a test whose name is another test's
// name up to a slash is taken for its parent.
func (r *Result) Cases() []Case {
	parents, blamed := r.ancestors()
	var counted []Case
	for key, c := range r.cases {
		isParent := key.Test == "" || parents[key]
		if !isParent || c.Outcome == Failed && !blamed[key] {
			counted = append(counted, c)
		}
	}
	sort.Slice(counted, func(i, j int) bool { return counted[i].Key.Less(counted[j].Key) })
	return counted
}

// ancestors returns the tests that have subtests, and the tests and packages with a failure below them.
func (r *Result) ancestors() (parents, blamed map[Key]bool) {
	parents, blamed = map[Key]bool{}, map[Key]bool{}
	for key, c := range r.cases {
		if key.Test == "" {
			continue
		}
		failed := c.Outcome == Failed
		if failed {
			blamed[Key{Package: key.Package}] = true
		}
		for i := strings.LastIndexByte(key.Test, '/'); i > 0; i = strings.LastIndexByte(key.Test[:i], '/') {
			parent := Key{Package: key.Package, Test: key.Test[:i]}
			parents[parent] = true
			if failed {
				blamed[parent] = true
			}
		}
	}
	return parents, blamed
}

// Counts holds the number of cases for each outcome.
type Counts struct {
	Passed, Failed, Skipped int
}

// Count counts the cases.
func (r *Result) Count() Counts {
	var n Counts
	for _, c := range r.Cases() {
		switch c.Outcome {
		case Passed:
			n.Passed++
		case Failed:
			n.Failed++
		case Skipped:
			n.Skipped++
		}
	}
	return n
}
