// Package difference compares a run of upstream's tests in the fork with the same run in the untouched module, so that failures
// of the environment count against neither.
package difference

import (
	"sort"

	"mongofork/tools/gotest"
)

// Change is a test that ended differently in the two trees.
type Change struct {
	gotest.Key
	Upstream, Fork gotest.Outcome
	// Output is what the test printed in the fork.
	Output []string
}

// Difference holds every case of the two runs in exactly one of its fields, each
// sorted by key. Cases that only the fork has and that passed there are left out.
type Difference struct {
	// Passed holds the tests that passed in both trees.
	Passed []gotest.Key
	// Fixed holds the tests that pass in the fork only.
	Fixed []Change
	// Broken holds the tests that fail in both trees.
	Broken []gotest.Case
	// Skipped holds the tests that the fork skips and that upstream did not pass.
	Skipped []gotest.Case
	// Gone holds the tests that the fork lacks and that upstream did not pass.
	Gone []gotest.Key
	// Regressed holds the tests that passed upstream but not in the fork, and those that fail only in the fork.
	Regressed []Change
	// Expected holds the regressions that the skip list names; see Expect.
	Expected []Expectation
	// Unsteady holds the regressions that a repetition did not confirm; see
	// Confirm.
	Unsteady []Unsteady
}

// Compare compares the cases of the two runs, except those for which own returns true, which are not upstream's. A test that has
// subtests in only one of the trees is compared by its own outcome.
func Compare(upstream, fork *gotest.Result, own func(gotest.Key) bool) *Difference {
	d := &Difference{}
	for _, key := range union(upstream, fork) {
		if own == nil || !own(key) {
			d.add(key, upstream, fork)
		}
	}
	return d
}

// union returns the keys of the cases in either run.
func union(runs ...*gotest.Result) []gotest.Key {
	var keys []gotest.Key
	seen := map[gotest.Key]bool{}
	for _, run := range runs {
		for _, c := range run.Cases() {
			if !seen[c.Key] {
				seen[c.Key] = true
				keys = append(keys, c.Key)
			}
		}
	}
	sort.Slice(keys, func(i, j int) bool { return keys[i].Less(keys[j]) })
	return keys
}

func (d *Difference) add(key gotest.Key, upstream, fork *gotest.Result) {
	was, is := upstream.Outcome(key), fork.Outcome(key)
	forkCase, _ := fork.Case(key)
	change := Change{Key: key, Upstream: was, Fork: is, Output: forkCase.Output}
	switch {
	case is == gotest.Passed && was == gotest.Passed:
		d.Passed = append(d.Passed, key)
	case is == gotest.Passed && was != gotest.Missing:
		d.Fixed = append(d.Fixed, change)
	case is == gotest.Passed:
		// New in the fork and fine.
	case regressed(was, is):
		d.Regressed = append(d.Regressed, change)
	case is == gotest.Failed:
		d.Broken = append(d.Broken, forkCase)
	case is == gotest.Skipped:
		d.Skipped = append(d.Skipped, forkCase)
	default:
		d.Gone = append(d.Gone, key)
	}
}

// regressed reports whether going from one outcome to the other is a loss.
func regressed(upstream, fork gotest.Outcome) bool {
	if upstream == gotest.Passed {
		return fork != gotest.Passed
	}
	return fork == gotest.Failed && upstream != gotest.Failed
}
