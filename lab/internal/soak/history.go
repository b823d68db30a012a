package soak

import (
	"slices"
	"sync"
)

// listLength is the number of operations on a list after which another one replaces it, which keeps lists short enough to read.
const listLength = 150

// history is what clients were told about lists of numbers, one list at a time. Clients append different numbers, so the final list shows
// their order. Together with the times this proves linearizability. It is safe for concurrent use.
type history struct {
	mu       sync.Mutex
	last     int64 // number that was given
	list     int
	used     int
	known    []int64 // of the present list: what was acknowledged or read, in that order
	accesses []*access
}

// access is an operation on a list.
type access struct {
	list     int
	before   []int64 // what was known of the list before the operation
	appended []int64
	read     []int64
	// succeeded is whether it took place; otherwise it may have, once.
	succeeded bool
}

// do runs an operation that appends so many numbers to the present list. It leaves what it reads in the access.
func (h *history) do(numbers int, operate func(*access) error) error {
	a := h.begin(numbers)
	err := operate(a)
	if err == nil {
		h.succeed(a)
	}
	return err
}

// begin returns an access to the present list that appends so many numbers.
func (h *history) begin(numbers int) *access {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.used++; h.used > listLength {
		h.list, h.used, h.known = h.list+1, 1, nil
	}
	a := &access{list: h.list, before: slices.Clone(h.known)}
	for range numbers {
		h.last++
		a.appended = append(a.appended, h.last)
	}
	h.accesses = append(h.accesses, a)
	return a
}

// succeed ends an access that took place.
func (h *history) succeed(a *access) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a.succeeded = true
	for _, n := range slices.Concat(a.appended, a.read) {
		if a.list == h.list && !slices.Contains(h.known, n) {
			h.known = append(h.known, n)
		}
	}
}

// check compares what clients were told with the lists that are there in the end.
func (h *history) check(lists map[int][]int64, report *Report) {
	for _, a := range h.accesses {
		list := lists[a.list]
		isEarlier := func(n int64) bool { return slices.Contains(a.before, n) }
		for _, n := range a.appended {
			switch at := slices.Index(list, n); {
			case at < 0 && a.succeeded:
				report.violation("acknowledged writes that are not there", "%d in list %d", n, a.list)
			case at >= 0 && slices.Contains(list[at+1:], n):
				report.violation("writes that were done more than once", "%d in list %d", n, a.list)
			case at >= 0 && slices.ContainsFunc(list[at+1:], isEarlier):
				report.violation("writes that overtook earlier ones", "%d in list %d", n, a.list)
			}
		}
		if !a.succeeded || a.read == nil && len(a.appended) > 0 {
			continue
		}
		if slices.ContainsFunc(a.before, func(known int64) bool { return !slices.Contains(a.read, known) }) {
			report.violation("reads that lack what was there", "list %d: %v, after %v were known", a.list, a.read, a.before)
		}
		if len(a.read) > len(list) || !slices.Equal(a.read, list[:len(a.read)]) {
			report.violation("reads of what did not stay", "list %d: %v", a.list, a.read)
		}
	}
}
