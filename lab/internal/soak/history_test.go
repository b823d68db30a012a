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

// read makes a read of these numbers succeed.
func (h *history) read(a *access, numbers ...int64) {
	a.read = numbers
	h.succeed(a)
}

func TestHistory(t *testing.T) {
	const missing, twice, nobodys = "acknowledged writes that are not there", "writes that were done more than once",
		"writes that nobody made"
	const overtook, stale, rolledBack = "writes that overtook earlier ones", "reads that lack what was there",
		"reads of what did not stay"
	// In each, two acknowledged writes, 1 and 2, one after the other; then 3, which failed.
	for name, test := range map[string]struct {
		read, there []int64 // after them, and in the end
		want        map[string]int
	}{
		"what was acknowledged":            {[]int64{1, 2}, []int64{1, 2}, nil},
		"what was not, too":                {[]int64{1, 2, 3}, []int64{1, 2, 3}, nil},
		"what was not, after a read":       {[]int64{1, 2}, []int64{1, 2, 3}, nil},
		"one is missing":                   {[]int64{1, 2}, []int64{1}, map[string]int{missing: 1, rolledBack: 1}},
		"all are missing":                  {nil, nil, map[string]int{missing: 2, stale: 1}},
		"one twice":                        {[]int64{1, 2}, []int64{1, 2, 1}, map[string]int{twice: 1, overtook: 1}},
		"one not acknowledged, twice":      {[]int64{1, 2}, []int64{1, 2, 3, 3}, map[string]int{twice: 1}},
		"one that was never written":       {[]int64{1, 2}, []int64{1, 2, 4}, map[string]int{nobodys: 1}},
		"one that cannot be":               {[]int64{1, 2}, []int64{1, 2, 0}, map[string]int{nobodys: 1}},
		"a read that is stale":             {[]int64{1}, []int64{1, 2}, map[string]int{stale: 1}},
		"a read before both":               {nil, []int64{1, 2}, map[string]int{stale: 1}},
		"a read of what was rolled back":   {[]int64{1, 2, 3}, []int64{1, 2}, map[string]int{rolledBack: 1}},
		"not in their order":               {[]int64{2, 1}, []int64{2, 1}, map[string]int{overtook: 1}},
		"one not acknowledged, before its": {[]int64{1, 2}, []int64{3, 1, 2}, map[string]int{overtook: 1, rolledBack: 1}},
	} {
		h, report := &history{ordered: true}, newReport()
		for range 2 {
			h.succeed(h.begin(1))
		}
		h.begin(1)
		h.read(h.begin(0), test.read...)
		h.check(map[int][]int64{0: test.there}, report)
		if test.want == nil {
			test.want = map[string]int{}
		}
		assert.Equal(t, test.want, counted(report), name)
	}
}

func TestReadsDoNotGoBack(t *testing.T) {
	h, report := &history{ordered: true}, newReport()
	early := h.begin(0)
	h.begin(1)
	h.read(h.begin(0), 1)
	h.succeed(early)
	h.check(map[int][]int64{0: {1}}, report)
	assert.Empty(t, report.Violations, "it began before")
	h.succeed(h.begin(0))
	h.check(map[int][]int64{0: {1}}, report)
	assert.Equal(t, map[string]int{"reads that lack what was there": 1}, counted(report))
}

func TestAppendsThatReturnTheList(t *testing.T) {
	h, report := &history{ordered: true}, newReport()
	h.succeed(h.begin(1))
	h.read(h.begin(1), 2)
	h.check(map[int][]int64{0: {1, 2}}, report)
	assert.Equal(t, map[string]int{"reads that lack what was there": 1}, counted(report))
}

func TestDocumentsHaveNoOrder(t *testing.T) {
	h, report := &history{}, newReport()
	h.succeed(h.begin(2))
	h.succeed(h.begin(1))
	h.read(h.begin(0), 1, 2, 3)
	h.check(map[int][]int64{0: {3, 1, 2}}, report)
	assert.Empty(t, report.Violations)
}

func TestListsTakeTurns(t *testing.T) {
	h := &history{}
	for range listLength {
		assert.Equal(t, 0, h.begin(0).list)
	}
	h.begin(1)
	assert.Equal(t, 1, h.begin(1).list)
}

func TestEvents(t *testing.T) {
	const twice, order, without = "events that came twice", "events out of order", "inserts without an event"
	for name, test := range map[string]struct {
		seen, inserted []int64
		want           map[string]int
	}{
		"all in order":                  {[]int64{1, 2}, []int64{1, 2}, map[string]int{}},
		"one not acknowledged":          {[]int64{1, 2, 3}, []int64{1, 2, 3}, map[string]int{}},
		"one not acknowledged and late": {[]int64{3, 1, 2}, []int64{1, 2, 3}, map[string]int{}},
		"twice":                         {[]int64{1, 2, 2}, []int64{1, 2}, map[string]int{twice: 1}},
		"out of order":                  {[]int64{2, 1}, []int64{1, 2}, map[string]int{order: 1}},
		"one without":                   {[]int64{1}, []int64{1, 2}, map[string]int{without: 1}},
	} {
		w := &workers{report: newReport(), seen: test.seen}
		w.inserts.succeed(w.inserts.begin(2))
		w.inserts.begin(1)
		w.checkEvents(map[int][]int64{0: test.inserted})
		assert.Equal(t, test.want, counted(w.report), name)
	}
}
