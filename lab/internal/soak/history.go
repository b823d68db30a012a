package soak

import "slices"

// listLength is the number of calls on a list after which another one replaces it, which keeps lists short enough to read.
const listLength = 150

// history is what a job was told about one of its lists of numbers, to which it alone appends growing ones, in one call after the other.
type history struct {
	acknowledged, known []int64 // known is also what was read
	reads               [][]int64
}

// succeed notes a call that appended these numbers.
func (h *history) succeed(appended []int64) {
	h.acknowledged = append(h.acknowledged, appended...)
	h.known = append(h.known, appended...)
}

// read notes what a call read, in which all that is known has to be.
func (h *history) read(numbers []int64, report *Report) {
	if slices.ContainsFunc(h.known, func(known int64) bool { return !slices.Contains(numbers, known) }) {
		report.violation("reads that lack what was there", "%v, after %v were known", numbers, h.known)
	}
	news := slices.DeleteFunc(slices.Clone(numbers), func(n int64) bool { return slices.Contains(h.known, n) })
	h.known, h.reads = append(h.known, news...), append(h.reads, numbers)
}

// check compares that with the list that is there in the end.
func (h *history) check(there []int64, report *Report) {
	highest := int64(0)
	for i, n := range there {
		acknowledged := slices.Contains(h.acknowledged, n)
		switch {
		case slices.Contains(there[:i], n):
			report.violation("writes that were done more than once", "%d in %v", n, there)
		case acknowledged && n < highest: // the higher one was sent after this one had been acknowledged
			report.violation("writes that overtook earlier ones", "%d after %d in %v", n, highest, there)
		}
		highest = max(highest, n)
	}
	for _, n := range h.acknowledged {
		if !slices.Contains(there, n) {
			report.violation("acknowledged writes that are not there", "%d in %v", n, there)
		}
	}
	for _, read := range h.reads {
		if len(read) > len(there) || !slices.Equal(read, there[:len(read)]) {
			report.violation("reads of what did not stay", "%v of %v", read, there)
		}
	}
}
