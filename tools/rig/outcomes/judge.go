package outcomes

import (
	"fmt"
	"maps"
	"slices"

	"mongofork/tools/difference"
	"mongofork/tools/gotest"
)

// Verdict compares a run in the fork with a record. Each case of the run is counted in one of its fields.
type Verdict struct {
	// Passed counts the cases that pass as in the untouched module, ForkOnly those that do not pass there.
	Passed, ForkOnly int
	// Failed are the cases that fail in the untouched module, too.
	Failed []gotest.Key
	// Skipped are the cases that were skipped.
	Skipped []gotest.Case
	// Expected are the cases that the skip list names.
	Expected []difference.Expectation
	// Varying are the cases that did not pass and whose outcome varies in the untouched module, with the reason.
	Varying map[gotest.Key]string
	// Regressed are the cases that do worse than recorded.
	Regressed []difference.Change
	// Better are the cases that pass although the record says that they do not.
	Better []gotest.Key
	// Groups are those whose cases differ from the recorded ones, or are skipped where those are not.
	Groups []string
	// Stale lists the entries of the skip list that are not needed.
	Stale []error
}

// Judge compares a run in the fork with the record. The cases for which own returns true are left out. Keys in the verdict have
// full packages.
func (r *Record) Judge(fork *gotest.Result, module string, own func(gotest.Key) bool, skips []difference.Skip) *Verdict {
	j := judgement{
		Verdict: &Verdict{Varying: map[gotest.Key]string{}}, record: r, module: module, skips: map[gotest.Key]difference.Skip{},
		upstream: map[gotest.Key]gotest.Outcome{}, blamed: map[string]bool{},
	}
	for _, skip := range skips {
		j.skips[gotest.Key{Package: skip.Package, Test: skip.Test}] = skip
	}
	for _, c := range fork.Cases() {
		if own == nil || !own(c.Key) {
			j.add(c, short(c.Key, module))
		}
	}
	j.finish()
	return j.Verdict
}

// judgement is a verdict in the making.
type judgement struct {
	*Verdict
	record *Record
	module string
	skips  map[gotest.Key]difference.Skip
	// upstream returns the outcomes in the untouched module, as far as the record and the run show them.
	upstream map[gotest.Key]gotest.Outcome
	// blamed are the groups with a case that is already reported.
	blamed map[string]bool
}

func (j *judgement) add(c gotest.Case, key gotest.Key) {
	if reason := j.record.varies(key); reason != "" {
		if c.Outcome == gotest.Passed {
			j.Passed++
		} else {
			j.Varying[c.Key] = reason
		}
		return
	}
	if was, listed := j.record.Fork[key]; listed {
		j.upstream[key] = was
		if c.Outcome == gotest.Passed {
			j.ForkOnly++
			return
		}
		j.regress(c, key, gotest.Passed)
		return
	}
	skip, expected := j.skips[key]
	was := c.Outcome
	switch {
	case expected && c.Outcome != gotest.Passed:
		was = gotest.Passed
		change := difference.Change{Key: c.Key, Upstream: was, Fork: c.Outcome, Output: c.Output}
		j.Expected = append(j.Expected, difference.Expectation{Skip: skip, Change: change})
	case expected:
		j.Passed++
	case c.Outcome == gotest.Failed && j.record.Failed[key]:
		j.Failed = append(j.Failed, c.Key)
	case c.Outcome == gotest.Failed:
		j.regress(c, key, gotest.Passed)
	case j.record.Failed[key]:
		was = gotest.Failed
		j.Better = append(j.Better, c.Key)
		j.blamed[GroupOf(key)] = true
	case c.Outcome == gotest.Skipped:
		j.Skipped = append(j.Skipped, c)
	default:
		j.Passed++
	}
	j.upstream[key] = was
}

// regress adds a case that does worse than it should.
func (j *judgement) regress(c gotest.Case, key gotest.Key, should gotest.Outcome) {
	j.Regressed = append(j.Regressed, difference.Change{Key: c.Key, Upstream: should, Fork: c.Outcome, Output: c.Output})
	j.blamed[GroupOf(key)] = true
}

func (j *judgement) finish() {
	groups := j.withRemoved()
	for name := range maps.Keys(j.record.Groups) {
		if _, ok := groups[name]; !ok {
			groups[name] = Group{}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		if groups[name] != j.record.Groups[name] && !j.blamed[name] {
			j.Groups = append(j.Groups, name)
		}
	}
	for key, skip := range j.skips {
		_, known := j.upstream[key]
		switch {
		case !known:
			j.Stale = append(j.Stale, fmt.Errorf("line %d: %s is no test that was run; correct its name or remove the entry", skip.Line, skip))
		case !j.isExpected(skip):
			j.Stale = append(j.Stale, fmt.Errorf("line %d: %s passes in the fork; remove the entry", skip.Line, skip))
		}
	}
}

// withRemoved counts the cases by group. The fork may lack cases that the skip list names, because it removed what they test.
// They passed upstream if their group is as recorded when they are added.
func (j *judgement) withRemoved() map[string]Group {
	supposed := maps.Clone(j.upstream)
	for key := range j.skips {
		if _, known := j.upstream[key]; !known {
			supposed[key] = gotest.Passed
		}
	}
	groups, with := j.record.count(j.upstream), j.record.count(supposed)
	for key, skip := range j.skips {
		name := GroupOf(key)
		if _, known := j.upstream[key]; known || with[name] != j.record.Groups[name] {
			continue
		}
		groups[name], j.upstream[key] = with[name], gotest.Passed
		full := gotest.Key{Package: j.module + "/" + key.Package, Test: key.Test}
		change := difference.Change{Key: full, Upstream: gotest.Passed, Fork: gotest.Missing}
		j.Expected = append(j.Expected, difference.Expectation{Skip: skip, Change: change})
	}
	return groups
}

func (j *judgement) isExpected(skip difference.Skip) bool {
	return slices.ContainsFunc(j.Expected, func(e difference.Expectation) bool { return e.Skip == skip })
}

// Differences returns the differences between a record and a later one, one line each.
func (r *Record) Differences(later *Record) []string {
	var lines []string
	if r.Server != later.Server {
		lines = append(lines, fmt.Sprintf("server %q is recorded, but was %q", r.Server, later.Server))
	}
	both := map[string]bool{}
	for name := range r.Groups {
		both[name] = true
	}
	for name := range later.Groups {
		both[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(both)) {
		if was, is := r.Groups[name], later.Groups[name]; was != is {
			lines = append(lines, fmt.Sprintf("%s: %d passed and %d skipped are recorded, but were %d and %d", name, was.Passed, was.Skipped, is.Passed, is.Skipped))
		}
	}
	lines = append(lines, only("failed", r.Failed, later.Failed)...)
	lines = append(lines, only("pass in the fork only", r.Fork, later.Fork)...)
	return append(lines, only("varies", r.Varies, later.Varies)...)
}

// only names the keys that just one of two records has.
func only[V any](what string, was, is map[gotest.Key]V) []string {
	var lines []string
	for _, key := range slices.SortedFunc(maps.Keys(was), compareKeys) {
		if _, ok := is[key]; !ok {
			lines = append(lines, fmt.Sprintf("%s: %s is recorded, but was not found", what, key))
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(is), compareKeys) {
		if _, ok := was[key]; !ok {
			lines = append(lines, fmt.Sprintf("%s: %s was found, but is not recorded", what, key))
		}
	}
	return lines
}
