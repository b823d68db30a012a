package suite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"mongofork/tools/difference"
	"mongofork/tools/gotest"
	"mongofork/tools/rig/outcomes"
	"mongofork/tools/rig/report"
)

// Baseline measures the outcomes of upstream's tests in the untouched module, in the given number of runs, and in the fork. It
// writes the records, or compares with them. Anything that the fork does worse fails in either case.
func (r *Rig) Baseline(ctx context.Context, runs int, write bool) []report.Suite {
	names := []string{"upstream", "spec " + r.Upstream}
	if r.Fork != r.Upstream {
		names = append(names, "spec "+r.Fork)
	}
	suites := make([]report.Suite, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() {
			suites[i] = r.timed(name, func(s *report.Suite) error {
				t, tr, err := r.trialOf(ctx, s, name)
				if err != nil {
					return err
				}
				return r.baseline(ctx, s, t, tr, runs, write)
			})
		})
	}
	all.Wait()
	return suites
}

// trialOf returns the trial of a suite.
func (r *Rig) trialOf(ctx context.Context, s *report.Suite, name string) (*trees, trial, error) {
	if name == "upstream" {
		return r.upstreamTrial(ctx, s)
	}
	return r.unifiedTrial(ctx, name[len("spec "):], "", nil)
}

// baseline measures one record.
func (r *Rig) baseline(ctx context.Context, s *report.Suite, t *trees, tr trial, runs int, write bool) error {
	earlier, err := r.readRecord(tr.record)
	if err != nil {
		return err
	}
	m := outcomes.Measurement{Platform: r.Platform, Module: Module, Own: t.own.has}
	for i := range runs {
		result, err := tr.run(ctx, fmt.Sprintf("%s untouched, run %d of %d", s.Name, i+1, runs), t.upstream, tr.command)
		if err != nil {
			return err
		}
		if n := result.Count(); n.Passed == 0 {
			return fmt.Errorf("no test passes in the untouched module (%d fail): there is nothing to record", n.Failed)
		}
		m.Untouched = append(m.Untouched, result)
	}
	if err := unfinished(m.Untouched); err != nil {
		return err
	}
	if m.Again, err = r.repeatFailed(ctx, s, t, tr, m.Untouched, earlier); err != nil {
		return err
	}
	if m.Fork, err = tr.run(ctx, s.Name+" fork", t.fork, tr.command); err != nil {
		return err
	}
	if tr.record != "upstream" {
		m.Server = pinnedServers
	}
	record := outcomes.New(m, earlier)
	if err := r.addBaseline(ctx, s, t, tr, record, m); err != nil {
		return err
	}
	if write {
		file := r.file(r.recordFile(tr.record))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		return os.WriteFile(file, []byte(record.String()), 0o644)
	}
	if earlier == nil {
		return fmt.Errorf("there is no record %s for %s; write it: make baseline BASE=%s", r.recordFile(tr.record), r.Platform, r.Base)
	}
	for _, difference := range earlier.Differences(record) {
		s.Failures = append(s.Failures, report.Failure{
			Name: r.recordFile(tr.record), What: difference, Rerun: "make baseline BASE=" + r.Base,
		})
	}
	return nil
}

// repeatFailed repeats the tests that failed in a run in the untouched module and are not known to vary, and returns those that
// then passed.
func (r *Rig) repeatFailed(ctx context.Context, s *report.Suite, t *trees, tr trial, runs []*gotest.Result, earlier *outcomes.Record) (map[gotest.Key]bool, error) {
	var keys []gotest.Key
	for _, c := range gotest.Merge(runs...).Cases() {
		if failedIn(runs, c.Key) && c.Test != "" && (earlier == nil || !earlier.Vary(c.Key, Module)) {
			keys = append(keys, c.Key)
		}
	}
	passed, err := r.repeat(ctx, s.Name+" untouched, repeated", t.upstream, tr, keys)
	again := map[gotest.Key]bool{}
	for _, key := range keys {
		again[key] = passed[key] > 0
	}
	return again, err
}

// unfinished returns an error if a run ended early, because nothing is known of the tests that did not run.
func unfinished(runs []*gotest.Result) error {
	for _, run := range runs {
		for _, c := range run.Cases() {
			if c.Unfinished() {
				return fmt.Errorf("the tests of the untouched module ended in %s; nothing was recorded, so try again:\n%s",
					c.Key, strings.Join(lastLines(c.Output), "\n"))
			}
		}
	}
	return nil
}

func failedIn(runs []*gotest.Result, key gotest.Key) bool {
	return slices.ContainsFunc(runs, func(run *gotest.Result) bool { return run.Outcome(key) == gotest.Failed })
}

// pinnedServers is the description of the pinned servers in records.
const pinnedServers = "mongod and SecantusDB, as pinned in etc/server"

// addBaseline adds the measurement to the suite, and what the fork does worse than the untouched module.
func (r *Rig) addBaseline(ctx context.Context, s *report.Suite, t *trees, tr trial, record *outcomes.Record, m outcomes.Measurement) error {
	skips, err := r.skips(tr.comparison, t.own)
	if err != nil {
		return err
	}
	v := record.Judge(m.Fork, Module, t.own.has, skips)
	if err := r.repeatRegressed(ctx, s, t, tr, v); err != nil {
		return err
	}
	r.addVerdict(s, v)
	s.Note = joinNotes(s.Note, count(len(record.Failed), "fail upstream"), count(len(record.Varies), "recorded as varying"))
	d := difference.Compare(m.Untouched[0], m.Fork, func(key gotest.Key) bool { return t.own.has(key) })
	var gone []string
	for _, key := range d.Gone {
		gone = append(gone, key.String())
	}
	s.Remarks = append(s.Remarks, remark("not in the fork, and did not pass upstream", gone)...)
	return nil
}
