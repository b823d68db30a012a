package soak

import (
	"fmt"
	"maps"
	"slices"
	"sync"
)

// stream numbers one worker's writes from 1, and remembers which of them were acknowledged. It is safe for concurrent use,
// because not only its writer reads it.
type stream struct {
	mu           sync.Mutex
	attempted    int64
	acknowledged map[int64]bool
}

// next returns the number of the next write.
func (s *stream) next() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempted++
	return s.attempted
}

func (s *stream) acknowledge(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.acknowledged == nil {
		s.acknowledged = make(map[int64]bool)
	}
	s.acknowledged[n] = true
}

// snapshot returns the number of attempted writes, and which were acknowledged.
func (s *stream) snapshot() (attempted int64, acknowledged map[int64]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.attempted, maps.Clone(s.acknowledged)
}

// check compares the numbers found, and how often, with the acknowledged ones.
func (s *stream) check(name string, found []int64, report *Report) {
	attempted, acknowledged := s.snapshot()
	times := make(map[int64]int, len(found))
	for _, n := range found {
		times[n]++
	}
	for _, n := range slices.Sorted(maps.Keys(acknowledged)) {
		if times[n] == 0 {
			report.violation("acknowledged writes that are not there", "%s %d", name, n)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(times)) {
		if times[n] > 1 {
			report.violation("writes that were done more than once", "%s %d: %d times", name, n, times[n])
		}
		if n < 1 || n > attempted {
			report.violation("writes that nobody made", "%s %d", name, n)
		}
	}
}

// Report is the result of a run. It is safe for concurrent use.
type Report struct {
	mu         sync.Mutex
	Operations map[string]int64     `json:"operations"` // by kind
	Errors     map[string]int64     `json:"errors"`     // by kind of error, documented ones
	Violations map[string]Violation `json:"violations"` // by kind
	Notes      []string             `json:"notes"`
	// Most is the largest number of commands for one operation.
	Most int `json:"most"`
	// Held is the number of commits that were held while the primary died.
	Held int64 `json:"held"`
}

// Violation is a broken promise.
type Violation struct {
	Count   int64  `json:"count"`
	Example string `json:"example"`
}

func newReport() *Report {
	return &Report{
		Operations: make(map[string]int64), Errors: make(map[string]int64), Violations: make(map[string]Violation),
	}
}

func (r *Report) violation(kind, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := r.Violations[kind]
	if v.Count++; v.Count == 1 {
		v.Example = fmt.Sprintf(format, args...)
	}
	r.Violations[kind] = v
}

func (r *Report) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// operation counts an operation and the error that the application saw.
func (r *Report) operation(kind string, err error) {
	r.mu.Lock()
	r.Operations[kind]++
	var documented bool
	var class string
	if err != nil {
		if class, documented = classify(err); documented {
			r.Errors[class]++
		}
	}
	r.mu.Unlock()
	if err != nil && !documented {
		r.violation("errors that are not documented", "%s: %T %v", kind, err, err)
	}
}

// Failed reports whether there were violations.
func (r *Report) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.Violations) > 0
}
