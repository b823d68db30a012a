// Package gotest runs "go test -json", turns its events into test cases that can be counted and compared, and reads the list of
// upstream's tests that may fail in the fork.
package gotest

import (
	"regexp"
	"slices"
	"strings"
)

// Outcome is how a test ended.
type Outcome string

// The outcomes of a test. Missing is that of one that was never seen.
const (
	Missing Outcome = ""
	Passed  Outcome = "passed"
	Failed  Outcome = "failed"
	Skipped Outcome = "skipped"
)

// Key names one test. Test is the full name of a test or subtest, or empty for anything outside the package's tests, such as a
// compile error.
type Key struct{ Package, Test string }

// String returns the key as "package Test/subtest".
func (k Key) String() string { return strings.TrimSuffix(k.Package+" "+k.Test, " ") }

// Parent returns the key of the test that has the subtest; its Test is empty if there is none.
func (k Key) Parent() Key {
	return Key{k.Package, k.Test[:max(strings.LastIndexByte(k.Test, '/'), 0)]}
}

// TopLevel returns the name of the test function of a test or subtest.
func TopLevel(test string) string {
	name, _, _ := strings.Cut(test, "/")
	return name
}

// Case is one test with its outcome.
type Case struct {
	Key
	Outcome Outcome
	// Output holds the lines that the test printed, without the middle if they are many.
	Output []string
}

// unfinished is the last line of the output of a case whose process ended before the case did.
const unfinished = "[the test process ended before this had a result]"

// Unfinished reports whether the case failed because its process ended, for any reason, before it had a result.
func (c Case) Unfinished() bool { return len(c.Output) > 0 && c.Output[len(c.Output)-1] == unfinished }

var (
	// logLine matches what testing.T.Log writes: an indented file name, the line number and the text.
	logLine = regexp.MustCompile(`^\s*([^\s:]+\.go:\d+): (.*)$`)
	// framing matches what the testing package writes by itself.
	framing = regexp.MustCompile(`^\s*(===|--- (PASS|FAIL|SKIP):) `)
)

// Reason returns the reason that the test gave for being skipped: the last that it logged, because Skip logs it and ends the test.
func (c Case) Reason() string {
	var reason []string
	for _, line := range c.Output {
		if match := logLine.FindStringSubmatch(line); match != nil {
			reason = match[2:]
		} else if reason != nil && !framing.MatchString(line) {
			reason = append(reason, strings.TrimSpace(line))
		}
	}
	if text := strings.TrimSpace(strings.Join(reason, " ")); text != "" {
		return text
	}
	return "no reason given"
}

// Where returns the file and line of the last message that the test logged, or nothing.
func (c Case) Where() string {
	for _, line := range slices.Backward(c.Output) {
		if match := logLine.FindStringSubmatch(line); match != nil {
			return match[1]
		}
	}
	return ""
}

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

// Merge returns a result with the cases of all results. Of cases with the same key a failure counts, or else
// the last one.
func Merge(results ...*Result) *Result {
	merged := NewResult()
	for _, r := range results {
		for key, c := range r.cases {
			if merged.cases[key].Outcome != Failed {
				merged.cases[key] = c
			}
		}
		merged.Stray = append(merged.Stray, r.Stray...)
	}
	return merged
}

// FailsLike reports whether the test failed in this run, too, and in the same way.
func (r *Result) FailsLike(c Case) bool {
	here, ok := r.cases[c.Key]
	return ok && here.Outcome == Failed && here.Where() == c.Where()
}

// Outcome returns the test's outcome, or Missing if the run did not have it.
func (r *Result) Outcome(key Key) Outcome { return r.cases[key].Outcome }

// Cases returns the cases that count, sorted. Those are the leaves, that is tests without subtests; a test with subtests where it
// failed and none of its subtests did; and a package where it failed and none of its tests did.
func (r *Result) Cases() []Case {
	isParent, blamed := map[Key]bool{}, map[Key]bool{}
	for key, c := range r.cases {
		for key.Test != "" {
			key = key.Parent()
			isParent[key] = true
			blamed[key] = blamed[key] || c.Outcome == Failed
		}
	}
	var counted []Case
	for key, c := range r.cases {
		leaf := key.Test != "" && !isParent[key]
		if leaf || c.Outcome == Failed && !blamed[key] {
			counted = append(counted, c)
		}
	}
	slices.SortFunc(counted, func(a, b Case) int { return strings.Compare(a.Package+" "+a.Test, b.Package+" "+b.Test) })
	return counted
}

// Counts holds the number of cases for each outcome.
type Counts struct{ Passed, Failed, Skipped int }

// Count counts the cases.
func (r *Result) Count() Counts {
	n := map[Outcome]int{}
	for _, c := range r.Cases() {
		n[c.Outcome]++
	}
	return Counts{n[Passed], n[Failed], n[Skipped]}
}
