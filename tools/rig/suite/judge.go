package suite

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mongofork/tools/gotest"
)

// repeatLimit is the largest number of tests that are repeated: more are a broken fork.
const repeatLimit = 150

// runner runs tests in a tree, on whatever servers they need.
type runner func(ctx context.Context, label, tree string, command gotest.Command) (*gotest.Result, error)

// judge runs tests in the fork. Ours have to pass. Upstream's have to pass, or to fail in the untouched module in the same way,
// then and there, or to be listed.
type judge struct {
	*trees
	command gotest.Command
	run     runner
	// skips lists the tests that may fail, and skipFile is its name in messages.
	skips    []gotest.Skip
	skipFile string
	// ours are the tests of ours that have to run.
	ours functions
	// covers says of which packages all of upstream's tests run, so that none may be lost, and the list's entries have to be
	// needed.
	covers func(folder string) bool
}

// judge adds the verdict to the result.
func (j judge) judge(ctx context.Context, r *Result) error {
	result, err := j.whole(ctx, r.Name)
	if err != nil {
		return err
	}
	var doubtful []gotest.Case
	for _, c := range result.Cases() {
		reason, listed := j.listed(c.Key)
		switch {
		case c.Outcome == gotest.Passed:
			r.Passed++
		case c.Outcome == gotest.Skipped:
			r.skip(tidyReason(c.Reason()))
		case listed:
			r.skip(reason)
		case c.Test == "" || c.Unfinished() || j.own.has(c.Key):
			r.fail(c.Key.String(), "failed", c.Output...)
		default:
			doubtful = append(doubtful, c)
		}
	}
	j.checkList(r, result)
	if len(doubtful) <= repeatLimit {
		if doubtful, err = j.appeal(ctx, r, doubtful); err != nil {
			return err
		}
	}
	for _, c := range doubtful {
		r.fail(c.Key.String(), "fails in the fork, and does not fail so in the untouched module", c.Output...)
	}
	return nil
}

// whole runs the tests, and all of them once more if a process ended early. A test that panics when the machine is slow takes those
// after it along.
func (j judge) whole(ctx context.Context, label string) (*gotest.Result, error) {
	result, err := j.run(ctx, label, j.fork, j.command)
	if err != nil || !slices.ContainsFunc(result.Cases(), gotest.Case.Unfinished) {
		return result, err
	}
	return j.run(ctx, label+", once more, because a process ended", j.fork, j.command)
}

// attempts is how often upstream's tests that fail in the fork are repeated before they count.
const attempts = 3

// appeal repeats failed tests alone, in the untouched module and in the fork, until each has failed in the one in the same way, or has
// passed in the other, or was run often enough; the fork is to blame for those that it returns.
func (j judge) appeal(ctx context.Context, r *Result, failed []gotest.Case) ([]gotest.Case, error) {
	for attempt := 0; attempt < attempts && len(failed) > 0; attempt++ {
		pristine, err := j.run(ctx, r.Name+", untouched", j.pristine, j.command.Only(failed))
		if err != nil {
			return nil, err
		}
		failed = slices.DeleteFunc(failed, func(c gotest.Case) bool {
			theirs := pristine.FailsLike(c)
			if theirs {
				r.skip("fails in the untouched module, too")
			}
			return theirs
		})
		if len(failed) == 0 {
			break
		}
		fork, err := j.run(ctx, r.Name+", repeated", j.fork, j.command.Only(failed))
		if err != nil {
			return nil, err
		}
		failed = slices.DeleteFunc(failed, func(c gotest.Case) bool {
			passed := fork.Outcome(c.Key) == gotest.Passed
			if passed {
				r.Passed++
				r.note("passed when repeated: %s", c.Key)
			}
			return passed
		})
	}
	return failed, nil
}

// listed returns the reason why a test may fail.
func (j judge) listed(key gotest.Key) (string, bool) {
	for _, skip := range j.skips {
		if skip.Package == folderOf(key) && skip.Test == key.Test {
			return fmt.Sprintf("asserts what the fork does otherwise: %s (instead: %s)", skip.Reason, skip.Successor), true
		}
	}
	return "", false
}

// checkList fails for our tests that did not run, for upstream's that the fork lacks, and for entries of the list that are not
// needed.
func (j judge) checkList(r *Result, result *gotest.Result) {
	for folder, names := range j.ours {
		for _, name := range names {
			// Examples run only if they state their output, and nothing does if the package as a whole has failed.
			ran := result.Outcome(gotest.Key{Package: Module + "/" + folder, Test: name}) != gotest.Missing
			if !ran && !strings.HasPrefix(name, "Example") && result.Outcome(gotest.Key{Package: Module + "/" + folder}) !=
				gotest.Failed {
				r.fail(folder+" "+name, "did not run")
			}
		}
	}
	if j.covers == nil {
		return
	}
	for folder, names := range j.lost.in(j.covers) {
		for _, name := range names {
			if _, listed := j.listed(gotest.Key{Package: Module + "/" + folder, Test: name}); !listed {
				r.fail(folder+" "+name, "upstream has this test, but the fork does not; name it in "+j.skipFile+
					" if that is right")
			}
		}
	}
	for _, skip := range j.skips {
		if !j.covers(skip.Package) {
			continue
		}
		key := gotest.Key{Package: Module + "/" + skip.Package, Test: skip.Test}
		folder, successor, _ := strings.Cut(skip.Successor, " ")
		switch {
		case result.Outcome(key) == gotest.Passed:
			r.fail(j.skipFile, skip.String()+" passes in the fork; remove the entry")
		case !slices.Contains(j.lost[skip.Package], skip.Test) && !known(result, key):
			r.fail(j.skipFile, skip.String()+" is not a test that was run; correct its name or remove the entry")
		case !slices.Contains(j.own[folder], successor):
			r.fail(j.skipFile, fmt.Sprintf("the overlay has no test %q; write it or correct the entry of %s",
				skip.Successor, skip))
		}
	}
}

// known reports whether a test ran, or was left out with the one that it belongs to.
func known(result *gotest.Result, key gotest.Key) bool {
	if result.Outcome(key) != gotest.Missing {
		return true
	}
	for key.Test != "" {
		key = key.Parent()
		if outcome := result.Outcome(key); outcome == gotest.Skipped || outcome == gotest.Failed && key.Test != "" {
			return true
		}
	}
	return false
}

var (
	versionNumber = regexp.MustCompile(`(than max version|than min version) "[0-9.]+"`)
	mismatchFrame = regexp.MustCompile(
		`^skipping due to environmental constraints: no matching RunOnBlock; comparison errors: \[(.*)\]$`)
)

// tidyReason shortens the reasons of upstream's test runners, so that the same reason with different version numbers is counted
// as one.
func tidyReason(reason string) string {
	if match := mismatchFrame.FindStringSubmatch(reason); match != nil {
		reason = "requirement not met: " + match[1]
	}
	return strings.TrimSpace(versionNumber.ReplaceAllString(reason, "$1 of the test"))
}
