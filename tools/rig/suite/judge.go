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

// versions are what tells apart reasons for the same skip.
var versions = regexp.MustCompile(`"?\d+(\.\d+)+"?`)

// judge runs the suite and adds its verdict to the result. Our tests have to pass. Upstream's have to pass, or to fail in the untouched
// module in the same way, then and there, or to be listed.
func (s *suite) judge(ctx context.Context) error {
	if err := s.prepare(ctx); err != nil {
		return err
	}
	result, err := s.run(ctx, s.Name, s.fork, s.commands...)
	if err == nil && slices.ContainsFunc(result.Cases(), gotest.Case.Unfinished) {
		// A test that panics when the machine is slow takes those after it along.
		result, err = s.run(ctx, s.Name+", once more, because a process ended", s.fork, s.commands...)
	}
	if err != nil {
		return err
	}
	var doubtful []gotest.Case
	for _, c := range result.Cases() {
		listed, is := s.skips[c.Key]
		switch {
		case c.Outcome == gotest.Passed:
			s.Passed++
		case c.Outcome == gotest.Skipped:
			_, why := c.Said()
			s.skip(versions.ReplaceAllString(why, "N"))
		case is:
			s.skip(fmt.Sprintf("asserts what the fork does otherwise: %s (instead: %v)", listed.reason, listed.successor))
		case c.Test == "" || c.Unfinished() || s.own[c.Function()]:
			s.fail(c.String(), "failed", c.Output)
		default:
			doubtful = append(doubtful, c)
		}
	}
	s.checkRan(result)
	if s.covers != nil {
		s.checkList(result)
	}
	if len(doubtful) <= repeatLimit {
		if doubtful, err = s.appeal(ctx, doubtful); err != nil {
			return err
		}
	}
	for _, c := range doubtful {
		s.fail(c.String(), "fails in the fork, and does not fail so in the untouched module", c.Output)
	}
	return nil
}

// appeal repeats failed tests alone, in the untouched module and in the fork, until each has failed in the one in the same way, or has
// passed in the other, or was run often enough; the fork is to blame for those that it returns.
func (s *suite) appeal(ctx context.Context, failed []gotest.Case) ([]gotest.Case, error) {
	for turn := 0; turn < 2*attempts && len(failed) > 0; turn++ {
		tree, label := s.pristine, ", untouched"
		if turn%2 == 1 {
			tree, label = s.fork, ", repeated"
		}
		result, err := s.run(ctx, s.Name+label, tree, s.commands[0].Only(failed))
		if err != nil {
			return nil, err
		}
		failed = slices.DeleteFunc(failed, func(c gotest.Case) bool {
			again := result[c.Key]
			where, _ := again.Said()
			before, _ := c.Said()
			switch {
			case tree == s.pristine && again.Outcome == gotest.Failed && where == before:
				s.skip("fails in the untouched module, too")
			case tree == s.fork && again.Outcome == gotest.Passed:
				s.Passed++
				s.note("passed when repeated: %v", c.Key)
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
func (s *suite) checkRan(result gotest.Result) {
	for test := range s.must {
		ran := result[test].Outcome != gotest.Missing || result[gotest.Key{Package: test.Package}].Outcome == gotest.Failed
		if !ran && !strings.HasPrefix(test.Test, "Example") {
			s.fail(test.String(), "did not run", "")
		}
	}
}

// checkList fails for upstream's tests that the fork lacks, and for entries of the list that are not needed.
func (s *suite) checkList(result gotest.Result) {
	for test := range s.lost.in(s.covers) {
		if _, listed := s.skips[test]; !listed {
			s.fail(test.String(), "upstream has this test, but the fork does not; name it in "+s.skipFile()+
				" if that is right", "")
		}
	}
	for test, listed := range s.skips {
		switch {
		case !s.covers(test.Package):
		case result[test].Outcome == gotest.Passed:
			s.fail(s.skipFile(), test.String()+" passes in the fork; remove the entry", "")
		case !s.lost[test] && result[test.Function()].Outcome == gotest.Missing:
			s.fail(s.skipFile(), test.String()+" is not a test that was run; correct its name or remove the entry", "")
		case !s.own[listed.successor]:
			s.fail(s.skipFile(), fmt.Sprintf("the overlay has no test %q; write it or correct the entry of %v",
				listed.successor, test), "")
		}
	}
}
