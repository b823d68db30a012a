package suite

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mongofork/tools/gotest"
)

const (
	// repeatLimit is the largest number of tests that are repeated: more are a broken fork.
	repeatLimit = 150
	// attempts is how often upstream's tests that fail in the fork are repeated before they count.
	attempts = 3
)

// runner runs tests in a tree, on whatever servers they need.
type runner func(ctx context.Context, label, tree string, command gotest.Command) (gotest.Result, error)

// judge runs tests in the fork. Ours have to pass. Upstream's have to pass, or to fail in the untouched module in the same way,
// then and there, or to be listed.
type judge struct {
	work
	command gotest.Command
	run     runner
	// must are the tests of ours that have to run.
	must functions
	// covers says of which packages all of upstream's tests run, so that none may be lost, and the list's entries have to be
	// needed.
	covers func(pkg string) bool
}

// versions are what tells apart reasons for the same skip.
var versions = regexp.MustCompile(`"?\d+(\.\d+)+"?`)

// judge adds the verdict to the result.
func (j judge) judge(ctx context.Context, r *Result) error {
	result, err := j.run(ctx, r.Name, j.fork, j.command)
	if err == nil && slices.ContainsFunc(result.Cases(), gotest.Case.Unfinished) {
		// A test that panics when the machine is slow takes those after it along.
		result, err = j.run(ctx, r.Name+", once more, because a process ended", j.fork, j.command)
	}
	if err != nil {
		return err
	}
	var doubtful []gotest.Case
	for _, c := range result.Cases() {
		listed, is := j.skips[c.Key]
		switch {
		case c.Outcome == gotest.Passed:
			r.Passed++
		case c.Outcome == gotest.Skipped:
			_, why := c.Said()
			r.skip(versions.ReplaceAllString(why, "N"))
		case is:
			r.skip(fmt.Sprintf("asserts what the fork does otherwise: %s (instead: %v)", listed.reason, listed.successor))
		case c.Test == "" || c.Unfinished() || j.own[c.Function()]:
			r.fail(c.String(), "failed", c.Output)
		default:
			doubtful = append(doubtful, c)
		}
	}
	j.checkRan(r, result)
	if j.covers != nil {
		j.checkList(r, result)
	}
	if len(doubtful) <= repeatLimit {
		if doubtful, err = j.appeal(ctx, r, doubtful); err != nil {
			return err
		}
	}
	for _, c := range doubtful {
		r.fail(c.String(), "fails in the fork, and does not fail so in the untouched module", c.Output)
	}
	return nil
}

// appeal repeats failed tests alone, in the untouched module and in the fork, until each has failed in the one in the same way, or has
// passed in the other, or was run often enough; the fork is to blame for those that it returns.
func (j judge) appeal(ctx context.Context, r *Result, failed []gotest.Case) ([]gotest.Case, error) {
	for turn := 0; turn < 2*attempts && len(failed) > 0; turn++ {
		tree, label := j.pristine, ", untouched"
		if turn%2 == 1 {
			tree, label = j.fork, ", repeated"
		}
		result, err := j.run(ctx, r.Name+label, tree, j.command.Only(failed))
		if err != nil {
			return nil, err
		}
		failed = slices.DeleteFunc(failed, func(c gotest.Case) bool {
			again := result[c.Key]
			where, _ := again.Said()
			before, _ := c.Said()
			switch {
			case tree == j.pristine && again.Outcome == gotest.Failed && where == before:
				r.skip("fails in the untouched module, too")
			case tree == j.fork && again.Outcome == gotest.Passed:
				r.Passed++
				r.note("passed when repeated: %v", c.Key)
			default:
				return false
			}
			return true
		})
	}
	return failed, nil
}

// checkRan fails for our tests that did not run. Examples run only if they state their output, and nothing does if the package as a
// whole has failed.
func (j judge) checkRan(r *Result, result gotest.Result) {
	for test := range j.must {
		ran := result[test].Outcome != gotest.Missing || result[gotest.Key{Package: test.Package}].Outcome == gotest.Failed
		if !ran && !strings.HasPrefix(test.Test, "Example") {
			r.fail(test.String(), "did not run", "")
		}
	}
}

// checkList fails for upstream's tests that the fork lacks, and for entries of the list that are not needed.
func (j judge) checkList(r *Result, result gotest.Result) {
	for test := range j.lost.in(j.covers) {
		if _, listed := j.skips[test]; !listed {
			r.fail(test.String(), "upstream has this test, but the fork does not; name it in "+j.skipFile()+
				" if that is right", "")
		}
	}
	for test, skip := range j.skips {
		switch {
		case !j.covers(test.Package):
		case result[test].Outcome == gotest.Passed:
			r.fail(j.skipFile(), test.String()+" passes in the fork; remove the entry", "")
		case !j.lost[test] && result[test.Function()].Outcome == gotest.Missing:
			r.fail(j.skipFile(), test.String()+" is not a test that was run; correct its name or remove the entry", "")
		case !j.own[skip.successor]:
			r.fail(j.skipFile(), fmt.Sprintf("the overlay has no test %q; write it or correct the entry of %v",
				skip.successor, test), "")
		}
	}
}
