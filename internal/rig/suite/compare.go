package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"mongofork/internal/rig/difference"
	"mongofork/internal/rig/gotest"
	"mongofork/internal/rig/report"
)

const (
	// repetitions is how often a regression is repeated before it counts.
	repetitions = 3
	// repeatLimit is up to how many regressions are repeated: more than that is a
	// broken fork, not flakiness.
	repeatLimit = 25
	// namesShown is how many names a remark lists.
	namesShown = 12
)

// comparison is one run of upstream's tests in both trees.
type comparison struct {
	// list names the part of the skip list that applies.
	list string
	// command is the run; its Dir is set for each tree.
	command gotest.Command
	// open prepares for one tree and returns more environment and what undoes it.
	open func(ctx context.Context) (env []string, done func() error, err error)
	// covers reports whether the run has the test, if it exists: a run may be of a
	// part only, and then the skip list's other entries don't matter.
	covers func(test string) bool
	// rerun is the environment in the commands that the report suggests.
	rerun []string
	// parallel lets both trees' runs go on at the same time. The tests of the unified runner wait most of the time.
	parallel bool
	// observe, if it is set, gets the result of each tree's run.
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

// arms runs the tests in both trees.
func (r *Rig) arms(ctx context.Context, s *report.Suite, t *trees, c comparison) (upstream, fork *gotest.Result, err error) {
	if !c.parallel || r.serverIsGiven() {
		// Runs that share a server would meet each other's fail points.
		if upstream, err = r.arm(ctx, s.Name+" untouched", t.upstream, c); err != nil {
			return nil, nil, err
		}
		fork, err = r.arm(ctx, s.Name+" fork", t.fork, c)
		return upstream, fork, err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, side := range []struct {
		label, tree string
		result      **gotest.Result
	}{{" untouched", t.upstream, &upstream}, {" fork", t.fork, &fork}} {
		env, done, openErr := c.open(ctx)
		if openErr != nil {
			return nil, nil, errors.Join(openErr, group.Wait(), err)
		}
		defer func() { err = errors.Join(err, done()) }()
		group.Go(func() (err error) {
			*side.result, err = r.runArm(ctx, s.Name+side.label, side.tree, c, env)
			return err
		})
	}
	err = group.Wait()
	return upstream, fork, err
}

// serverIsGiven reports whether there is one server for everything, the user's.
func (r *Rig) serverIsGiven() bool {
	return slices.ContainsFunc(r.Environ, func(assignment string) bool {
		value, isURI := strings.CutPrefix(assignment, "MONGODB_URI=")
		return isURI && value != ""
	})
}

// arm runs the tests in one of the trees.
func (r *Rig) arm(ctx context.Context, label, tree string, c comparison) (result *gotest.Result, err error) {
	env, done, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, done()) }()
	return r.runArm(ctx, label, tree, c, env)
}

// runArm is arm with an environment that is there already.
func (r *Rig) runArm(ctx context.Context, label, tree string, c comparison, env []string) (*gotest.Result, error) {
	command := c.command
	command.Dir = r.file(tree)
	command.Env = r.env(env...)
	result, err := r.Tests.Test(ctx, command, r.Progress.Counter(label))
	if err != nil {
		return nil, err
	}
	n := result.Count()
	r.Progress.Printf("      %s: %d passed, %d failed, %d skipped", label, n.Passed, n.Failed, n.Skipped)
	return result, nil
}

// confirm repeats what regressed, each test alone.
func (r *Rig) confirm(ctx context.Context, s *report.Suite, t *trees, c comparison, d *difference.Difference) error {
	if len(d.Regressed) == 0 {
		return nil
	}
	r.Progress.Printf("      %s: repeating what regressed (%d)", s.Name, len(d.Regressed))
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

// summarize adds all of the difference but the regressions to the suite.
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
		if skip.Suite != c.list || !c.covers(skip.Test) {
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
