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
	const missing, twice = "acknowledged writes that are not there", "writes that were done more than once"
	const overtook, stale, rolledBack = "writes that overtook earlier ones", "reads that lack what was there",
		"reads of what did not stay"
	// In each, two acknowledged writes, 1 and 2, one after the other; then 3, which failed.
	for name, test := range map[string]struct {
		read, there []int64 // after them, and in the end
		want        map[string]int
	}{
		"what was acknowledged":            {[]int64{1, 2}, []int64{1, 2}, map[string]int{}},
		"what was not, too":                {[]int64{1, 2, 3}, []int64{1, 2, 3}, map[string]int{}},
		"what was not, after a read":       {[]int64{1, 2}, []int64{1, 2, 3}, map[string]int{}},
		"one is missing":                   {[]int64{1, 2}, []int64{1}, map[string]int{missing: 1, rolledBack: 1}},
		"all are missing":                  {nil, nil, map[string]int{missing: 2, stale: 1}},
		"one twice":                        {[]int64{1, 2}, []int64{1, 2, 1}, map[string]int{twice: 1, overtook: 1}},
		"one not acknowledged, twice":      {[]int64{1, 2}, []int64{1, 2, 3, 3}, map[string]int{twice: 1}},
		"a read that is stale":             {[]int64{1}, []int64{1, 2}, map[string]int{stale: 1}},
		"a read before both":               {nil, []int64{1, 2}, map[string]int{stale: 1}},
		"a read of what was rolled back":   {[]int64{1, 2, 3}, []int64{1, 2}, map[string]int{rolledBack: 1}},
		"not in their order":               {[]int64{2, 1}, []int64{2, 1}, map[string]int{overtook: 1}},
		"one not acknowledged, before its": {[]int64{1, 2}, []int64{3, 1, 2}, map[string]int{overtook: 1, rolledBack: 1}},
	} {
		h, report := &history{}, newReport()
		for range 2 {
			h.succeed(h.begin(1))
		}
		h.begin(1)
		h.read(h.begin(0), test.read...)
		h.check(map[int][]int64{0: test.there}, report)
		assert.Equal(t, test.want, counted(report), name)
	}
}

// What a read has to contain was known before it began, also if it is that of a write that returns the list. Lists take turns.
func TestReadsDoNotGoBack(t *testing.T) {
	const stale, rolledBack = "reads that lack what was there", "reads of what did not stay"
	h, report := &history{}, newReport()
	early := h.begin(0)
	h.succeed(h.begin(1))
	h.read(early)
	h.begin(0).read = []int64{7} // it failed
	h.check(map[int][]int64{0: {1}}, report)
	assert.Empty(t, report.Violations, "it began before")
	h.read(h.begin(1), 2)
	h.check(map[int][]int64{0: {1, 2}}, report)
	assert.Equal(t, map[string]int{stale: 1, rolledBack: 1}, counted(report))

	h, report = &history{}, newReport()
	h.begin(1)
	h.read(h.begin(0), 1)
	h.read(h.begin(0))
	h.check(map[int][]int64{0: {1}}, report)
	assert.Equal(t, map[string]int{stale: 1}, counted(report), "what was read is known, though it was not acknowledged")

	h = &history{}
	var last *access
	for range listLength {
		last = h.begin(1)
		assert.Equal(t, 0, last.list)
	}
	assert.Equal(t, 1, h.begin(1).list)
	h.succeed(last)
	assert.Empty(t, h.begin(0).before, "of another list")
}

// Transactions are whole, and each number of the session has one event.
func TestCheck(t *testing.T) {
	const whole, events = "transactions that are not whole", "events that came twice, out of order or not at all"
	for name, test := range map[string]struct {
		listed, inserted, there, seen []int64
		want                          map[string]int
	}{
		"all":                       {[]int64{1, 2}, []int64{1, 2}, []int64{1}, []int64{1}, map[string]int{}},
		"a list alone":              {[]int64{1, 2}, []int64{1}, nil, nil, map[string]int{whole: 1}},
		"a document alone":          {[]int64{1}, []int64{1, 2}, nil, nil, map[string]int{whole: 1}},
		"an event twice":            {[]int64{1}, []int64{1}, []int64{1}, []int64{1, 1}, map[string]int{events: 1}},
		"events out of order":       {[]int64{1}, []int64{1}, []int64{1, 2}, []int64{2, 1}, map[string]int{events: 1}},
		"a number without an event": {[]int64{1}, []int64{1}, []int64{1, 2}, []int64{1}, map[string]int{events: 1}},
	} {
		w := &workers{report: newReport(), seen: map[int][]int64{0: test.seen}}
		w.listed.succeed(w.listed.begin(1))
		w.listed.begin(1)
		documents := map[int][]int64{}
		for _, n := range test.inserted {
			documents[int(n)] = nil
		}
		w.check(map[string]map[int][]int64{listed: {0: test.listed}, inserted: documents, own: {0: test.there}})
		assert.Equal(t, test.want, counted(w.report), name)
	}
	w := &workers{report: newReport()}
	for _, h := range []*history{&w.shared, &w.listed, &w.own} {
		h.succeed(h.begin(1))
	}
	w.check(nil)
	assert.Equal(t, map[string]int{"acknowledged writes that are not there": 3}, counted(w.report))
}
