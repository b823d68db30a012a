package suite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"mongofork/tools/difference"
	"mongofork/tools/gotest"
	"mongofork/tools/rig/outcomes"
	"mongofork/tools/rig/report"
)

// trial is a run of upstream's tests in the fork, judged by the record of the untouched module.
type trial struct {
	comparison
	// record names the record.
	record string
	// part means that only some tests run, so that their number means nothing.
	part bool
	// run runs tests in a tree.
	run func(ctx context.Context, label, tree string, command gotest.Command) (*gotest.Result, error)
}

// recordFile returns the path of a record below the root.
func (r *Rig) recordFile(name string) string { return "etc/bases/" + r.Base + "/outcomes/" + name }

// readRecord reads a record; it is nil if there is none, or none for this platform.
func (r *Rig) readRecord(name string) (*outcomes.Record, error) {
	file, err := os.Open(r.file(r.recordFile(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	record, err := outcomes.Parse(file, r.recordFile(name))
	if err != nil || record.Platform != r.Platform {
		return nil, err
	}
	return record, nil
}

// judge runs the tests in the fork and adds the record's judgement to the suite.
func (r *Rig) judge(ctx context.Context, s *report.Suite, t *trees, record *outcomes.Record, tr trial) error {
	skips, err := r.skips(tr.comparison, t.own)
	if err != nil {
		return err
	}
	result, err := tr.run(ctx, s.Name, t.fork, tr.command)
	if err != nil {
		return err
	}
	v := record.Judge(result, Module, t.own.has, skips)
	if err := r.repeatRegressed(ctx, s, t, tr, v); err != nil {
		return err
	}
	r.addVerdict(s, v)
	if tr.part {
		return nil
	}
	for _, group := range v.Groups {
		if err := r.explainGroup(ctx, s, t, tr, result, record, group); err != nil {
			return err
		}
	}
	return nil
}

// addVerdict adds all of a verdict except the groups to the suite.
func (r *Rig) addVerdict(s *report.Suite, v *outcomes.Verdict) {
	s.Passed += v.Passed + v.ForkOnly
	for range v.Failed {
		s.AddSkips("fails upstream too")
	}
	for _, c := range v.Skipped {
		s.AddSkips(tidyReason(c.Reason()))
	}
	for _, reason := range v.Varying {
		s.AddSkips("varies upstream too: " + reason)
	}
	for _, e := range v.Expected {
		s.AddSkips(fmt.Sprintf("asserts what the specification changed: %s (instead: %s)", e.Reason, e.Successor))
	}
	for _, problem := range v.Stale {
		s.Failures = append(s.Failures, report.Failure{Name: r.skipFile(), What: problem.Error()})
	}
	for _, key := range v.Better {
		s.Failures = append(s.Failures, report.Failure{
			Name: key.String(), What: "does not fail, but is recorded to fail upstream; if that is right, rewrite the record",
			Rerun: "make baseline BASE=" + r.Base,
		})
	}
	s.Note = joinNotes(s.Note, count(len(v.Failed), "fail upstream too"), count(len(v.Varying), "vary upstream too"),
		count(len(v.Expected), "expected to differ"), count(v.ForkOnly, "pass in the fork only"))
	var varying []string
	for _, key := range slices.SortedFunc(maps.Keys(v.Varying), func(a, b gotest.Key) int { return strings.Compare(a.String(), b.String()) }) {
		varying = append(varying, key.String()+": "+v.Varying[key])
	}
	s.Remarks = append(s.Remarks, remark("did not pass, and varies upstream", varying)...)
}

// repeatRegressed repeats the cases that do worse than recorded, and adds the confirmed ones to the suite.
func (r *Rig) repeatRegressed(ctx context.Context, s *report.Suite, t *trees, tr trial, v *outcomes.Verdict) error {
	var keys []gotest.Key
	for _, change := range v.Regressed {
		if change.Test != "" {
			keys = append(keys, change.Key)
		}
	}
	if len(keys) > repeatLimit {
		s.Remarks = append(s.Remarks, fmt.Sprintf("%d tests regressed, too many to repeat them (the limit is %d)", len(keys), repeatLimit))
		keys = nil
	}
	passed, err := r.repeat(ctx, s.Name+", repeated", t.fork, tr, keys)
	if err != nil {
		return err
	}
	keys = slices.DeleteFunc(keys, func(key gotest.Key) bool { return passed[key] > 0 })
	upstream, err := r.repeat(ctx, s.Name+", repeated untouched", t.upstream, tr, keys)
	if err != nil {
		return err
	}
	var steadied []string
	for _, change := range v.Regressed {
		if attempt := passed[change.Key]; attempt > 0 {
			v.Passed++
			steadied = append(steadied, fmt.Sprintf("%s (repetition %d passes)", change.Key, attempt))
			continue
		}
		what := fmt.Sprintf("%s upstream by the record, %s in the fork", change.Upstream, change.Fork)
		if slices.Contains(keys, change.Key) {
			what += "; repeated upstream it " + map[bool]string{true: "passes", false: "does not pass"}[upstream[change.Key] > 0]
		}
		s.Failures = append(s.Failures, report.Failure{
			Name: change.Key.String(), What: what, Output: lastLines(change.Output),
			Rerun: rerunCommand(t.fork, tr.command, change.Key, "."+strings.TrimPrefix(change.Package, Module), tr.rerun...),
		})
	}
	s.Note = joinNotes(s.Note, count(len(steadied), "decided by repetition"))
	s.Remarks = append(s.Remarks, remark("decided by repetition", steadied)...)
	return nil
}

// repeat runs tests again, without the others, until each has passed or was run three times. It returns the repetition in which
// each passed.
func (r *Rig) repeat(ctx context.Context, label, tree string, tr trial, keys []gotest.Key) (map[gotest.Key]int, error) {
	passed := map[gotest.Key]int{}
	pending := slices.Clone(keys)
	for attempt := 1; attempt <= repetitions && len(pending) > 0; attempt++ {
		command := tr.command
		var patterns []string
		command.Packages = nil
		for _, key := range pending {
			patterns = append(patterns, gotest.Pattern(key.Test))
			if folder := "." + strings.TrimPrefix(key.Package, Module); !slices.Contains(command.Packages, folder) {
				command.Packages = append(command.Packages, folder)
			}
		}
		command.Run = strings.Join(patterns, "|")
		result, err := tr.run(ctx, fmt.Sprintf("%s %d", label, attempt), tree, command)
		if err != nil {
			return nil, err
		}
		pending = slices.DeleteFunc(pending, func(key gotest.Key) bool {
			if result.Outcome(key) == gotest.Passed {
				passed[key] = attempt
			}
			return passed[key] > 0
		})
	}
	return passed, nil
}

// explainGroup finds the cases of a group that differ from the untouched module, by running those there.
func (r *Rig) explainGroup(ctx context.Context, s *report.Suite, t *trees, tr trial, fork *gotest.Result, record *outcomes.Record, group string) error {
	folder, specification, _ := strings.Cut(group, " ")
	command := tr.command
	command.Packages = []string{"./" + folder}
	if specification != "" {
		command.Run = gotest.Pattern(specification)
	}
	untouched, err := tr.run(ctx, s.Name+" untouched", t.upstream, command)
	if err != nil {
		return err
	}
	inGroup := filter(fork, func(key gotest.Key) bool {
		key.Package = strings.TrimPrefix(strings.TrimPrefix(key.Package, Module), "/")
		return outcomes.GroupOf(key) == group
	})
	d := difference.Compare(untouched, inGroup, t.own.has)
	var names []string
	for _, change := range append(d.Regressed, d.Fixed...) {
		names = append(names, fmt.Sprintf("%s: %s upstream, %s in the fork", change.Key, change.Upstream, change.Fork))
	}
	for _, key := range d.Gone {
		names = append(names, key.String()+": not in the fork")
	}
	counts := inGroup.Count()
	what := fmt.Sprintf("%d pass and %d are skipped, but %d and %d are recorded; the untouched module now does the same as the fork: the record does not fit",
		counts.Passed, counts.Skipped, record.Groups[group].Passed, record.Groups[group].Skipped)
	if len(names) > 0 {
		what = fmt.Sprintf("%d cases end differently from upstream", len(names))
	}
	s.Failures = append(s.Failures, report.Failure{Name: group, What: what, Output: lastLines(names), Rerun: "make baseline BASE=" + r.Base})
	return nil
}
