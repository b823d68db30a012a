package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"mongofork/tools/difference"
	"mongofork/tools/gotest"
	"mongofork/tools/rig/report"
)

const (
	// repetitions is the number of times that a regression is repeated before it counts.
	repetitions = 3
	// repeatLimit is the largest number of regressions that are repeated: more are a broken fork, not flakiness.
	repeatLimit = 25
	// namesShown is the number of names in a remark.
	namesShown = 12
)

// comparison is one run of upstream's tests in both trees.
type comparison struct {
	// list names the part of the skip list that applies.
	list string
	// command is the run; its Dir is set for each tree.
	command gotest.Command
	// open prepares for one tree and returns additional environment and a function that undoes it.
	open func(ctx context.Context) (env []string, done func() error, err error)
	// covers reports whether the run includes the test, if it exists. For a run of a part only, the skip list's other entries are
	// ignored.
	covers func(test string) bool
	// rerun is the environment in the commands that the report suggests.
	rerun []string
	// parallel lets both trees' runs go on at the same time, because the tests of the unified runner wait most of the time.
	parallel bool
	// observe, if set, receives the result of each tree's run.
	observe func(inFork bool, result *gotest.Result)
}

// compare runs the tests in both trees and adds the difference to the suite.
func (r *Rig) compare(ctx context.Context, s *report.Suite, t *trees, c comparison) error {
	skips, err := r.skips(c, t.own)
	if err != nil {
		return err
	}
	upstream, fork, err := r.arms(ctx, s, t, c)
	if err != nil {
		return err
	}
	if n := upstream.Count(); n.Passed == 0 {
		return fmt.Errorf("no test passes in the untouched module (%d fail): there is nothing to compare with", n.Failed)
	}
	if c.observe != nil {
		c.observe(false, upstream)
		c.observe(true, fork)
	}
	d := difference.Compare(upstream, fork, t.own.has)
	for _, problem := range d.Expect(skips, Module) {
		s.Failures = append(s.Failures, report.Failure{Name: r.skipFile(), What: problem.Error()})
	}
	if err := r.confirm(ctx, s, t, c, d); err != nil {
		return err
	}
	summarize(s, d)
	for _, change := range d.Regressed {
		pkg := "." + strings.TrimPrefix(change.Package, Module)
		s.Failures = append(s.Failures, report.Failure{
			Name:   change.Key.String(),
			What:   fmt.Sprintf("%s upstream, %s in the fork", change.Upstream, change.Fork),
			Output: lastLines(change.Output),
			Rerun:  rerunCommand(t.fork, c.command, change.Key, pkg, c.rerun...),
		})
	}
	return nil
}

// confirm repeats the regressions, each test alone.
func (r *Rig) confirm(ctx context.Context, s *report.Suite, t *trees, c comparison, d *difference.Difference) error {
	if len(d.Regressed) == 0 {
		return nil
	}
	r.Progress.Printf("      %s: repeating the regressions (%d)", s.Name, len(d.Regressed))
	rerun := func(ctx context.Context, inFork bool, key gotest.Key) (gotest.Outcome, error) {
		tree := t.upstream
		if inFork {
			tree = t.fork
		}
		single := c
		single.command.Run = gotest.Pattern(key.Test)
		single.command.Packages = []string{"." + strings.TrimPrefix(key.Package, Module)}
		result, err := r.arm(ctx, "repeat in "+tree+": "+key.String(), tree, single)
		if err != nil {
			return gotest.Missing, err
		}
		return result.Outcome(key), nil
	}
	repeated, err := d.Confirm(ctx, rerun, repetitions, repeatLimit)
	if err == nil && !repeated {
		s.Remarks = append(s.Remarks, fmt.Sprintf("%d tests regressed, too many to repeat each (the limit is %d)",
			len(d.Regressed), repeatLimit))
	}
	return err
}

// skipFile is the skip list's path below the root.
func (r *Rig) skipFile() string { return "etc/bases/" + r.Base + "/skips" }

// skips reads the entries that apply to a run. Each must name a test of ours that
// asserts what the specification demands instead.
func (r *Rig) skips(c comparison, own ownTests) ([]difference.Skip, error) {
	file, err := os.Open(r.file(r.skipFile()))
	if err != nil {
		return nil, fmt.Errorf("read the skip list: %w", err)
	}
	defer file.Close()
	all, err := difference.ParseSkips(file, r.skipFile())
	if err != nil {
		return nil, err
	}
	var kept []difference.Skip
	var problems []error
	for _, skip := range all {
		// The integration tests have those of "spec" among them.
		applies := skip.Suite == c.list || c.list == "integration" && skip.Suite == "spec"
		if !applies || !c.covers(skip.Test) {
			continue
		}
		folder, test, _ := strings.Cut(skip.Successor, " ")
		if !own.has(gotest.Key{Package: Module + "/" + folder, Test: test}) {
			problems = append(problems, fmt.Errorf("%s:%d: the overlay has no test %q; write it or correct the entry of %s",
				r.skipFile(), skip.Line, skip.Successor, skip))
		}
		kept = append(kept, skip)
	}
	return kept, errors.Join(problems...)
}
