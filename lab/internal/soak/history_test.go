package soak

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// counted returns how often each kind of violation is in the report.
func counted(report *Report) map[string]int {
	counts := map[string]int{}
	for kind, examples := range report.Violations {
		counts[kind] = len(examples)
	}
	return counts
}

// TestHistory is about two acknowledged writes, 1 and 2, then 3, which failed, then a read.
func TestHistory(t *testing.T) {
	const missing, twice = "acknowledged writes that are not there", "writes that were done more than once"
	const overtook, stale, rolledBack = "writes that overtook earlier ones", "reads that lack what was there",
		"reads of what did not stay"
	for name, test := range map[string]struct {
		read, there []int64
		want        map[string]int
	}{
		"what was acknowledged":            {[]int64{1, 2}, []int64{1, 2}, map[string]int{}},
		"what was not, too":                {[]int64{1, 2, 3}, []int64{1, 2, 3}, map[string]int{}},
		"what was not, after a read":       {[]int64{1, 2}, []int64{1, 2, 3}, map[string]int{}},
		"one is missing":                   {[]int64{1, 2}, []int64{1}, map[string]int{missing: 1, rolledBack: 1}},
		"all are missing":                  {nil, nil, map[string]int{missing: 2, stale: 1}},
		"one twice":                        {[]int64{1, 2}, []int64{1, 2, 1}, map[string]int{twice: 1}},
		"one not acknowledged, twice":      {[]int64{1, 2}, []int64{1, 2, 3, 3}, map[string]int{twice: 1}},
		"a read that is stale":             {[]int64{1}, []int64{1, 2}, map[string]int{stale: 1}},
		"a read of what was rolled back":   {[]int64{1, 2, 3}, []int64{1, 2}, map[string]int{rolledBack: 1}},
		"not in their order":               {[]int64{2, 1}, []int64{2, 1}, map[string]int{overtook: 1}},
		"one not acknowledged, before its": {[]int64{1, 2}, []int64{3, 1, 2}, map[string]int{overtook: 2, rolledBack: 1}},
	} {
		h, report := &history{}, newReport()
		h.succeed(1)
		h.succeed(2)
		h.read(test.read, report)
		h.check(test.there, report)
		assert.Equal(t, test.want, counted(report), name)
	}
	h, report := &history{}, newReport()
	h.read([]int64{1}, report)
	h.read(nil, report)
	assert.Equal(t, map[string]int{stale: 1}, counted(report), "what was read is known, though it was not acknowledged")
}

// TestCheck is about numbers of transactions, and those of another job, whose lists take turns.
func TestCheck(t *testing.T) {
	transactions, updates := &job{kind: "transaction", last: 2, histories: []*history{{}}}, &job{kind: "update", last: 9}
	updates.histories = []*history{{acknowledged: []int64{1}}, {acknowledged: []int64{9}}}
	done := []*job{transactions, updates}
	whole := map[string][]int64{"transaction 0": {1, 2}, inserted: {1, 2}, "update 0": {1}, "update 1": {9}}
	report := newReport()
	check(done, whole, report)
	assert.Empty(t, report.Violations)
	check(done, map[string][]int64{"transaction 0": {1}, inserted: {2}, "update 0": {9}, "update 1": {1}}, report)
	assert.Equal(t, map[string]int{"transactions that are not whole": 2, "acknowledged writes that are not there": 2}, counted(report))
}
