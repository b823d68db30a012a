package soak

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"mongofork/lab/internal/servererror"
)

// The kinds of violations.
const (
	lostWrites       = "acknowledged writes that are not there"
	doubledWrites    = "writes that were done more than once"
	foreignWrites    = "writes that nobody made"
	wrongResults     = "results that are wrong"
	wrongSums        = "sums that are wrong"
	notLinearizable  = "registers that are not linearizable"
	notChecked       = "registers that took too long to check"
	unreadWrites     = "sessions that do not read their writes"
	readsGoBack      = "sessions whose reads go back"
	doubledEvents    = "events that came twice"
	unorderedEvents  = "events out of order"
	missingEvents    = "inserts without an event"
	endedStreams     = "change streams that end early"
	repeatingCursors = "cursors that repeat themselves"
	lackingCursors   = "cursors that lack an acknowledged write"
	tooManyCommands  = "operations of more than 6 commands"
	neverSeen        = "operations that the server never saw"
	undocumented     = "errors that are not documented"
	leakedConns      = "connections that were leaked"
	leakedGoroutines = "goroutines that were leaked"
)

// kinds are the kinds of violations, the gravest for an application first.
var kinds = [...]string{
	lostWrites, doubledWrites, foreignWrites, wrongResults, wrongSums, notLinearizable, notChecked, unreadWrites,
	readsGoBack, doubledEvents, unorderedEvents, missingEvents, endedStreams, repeatingCursors, lackingCursors,
	tooManyCommands, neverSeen, undocumented, leakedConns, leakedGoroutines,
}

// Report is the result of a run. It is safe for concurrent use.
type Report struct {
	mu         sync.Mutex
	Operations int64                `json:"operations"`
	Errors     map[string]int64     `json:"errors"`     // by kind of error, documented ones
	Violations map[string]Violation `json:"violations"` // by kind
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
	return &Report{Errors: make(map[string]int64), Violations: make(map[string]Violation)}
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

// operation counts an operation and the error that the application saw.
func (r *Report) operation(kind string, err error) {
	class, documented := "", true
	if err != nil {
		class, documented = classify(err)
	}
	r.mu.Lock()
	r.Operations++
	if class != "" {
		r.Errors[class]++
	}
	r.mu.Unlock()
	if !documented {
		r.violation(undocumented, "%s: %T %v", kind, err, err)
	}
}

// labels are the error labels that tell an application what it may do, the most telling first.
var labels = [...]string{
	"SystemOverloadedError", "TransientTransactionError", "UnknownTransactionCommitResult", "ResumableChangeStreamError",
	"RetryableWriteError", "RetryableError", "NetworkError",
}

// codes are the error codes of a member that is not, or no longer, in the role that the command needs; and what a server documents
// for what is lost with a member or not there yet: cursors that were open there, and the time to read at, which a member that has
// just started does not know.
var codes = [...]int32{
	servererror.CodeShutdownInProgress, servererror.CodePrimarySteppedDown, servererror.CodeNotWritablePrimary,
	servererror.CodeInterruptedAtShutdown, servererror.CodeInterruptedByStateChange, servererror.CodeNotPrimaryNoSecondaryOk,
	servererror.CodeNotPrimaryOrSecondary,
	43 /* CursorNotFound */, 237 /* CursorKilled */, 246, /* SnapshotUnavailable */
}

// classify names the kind of an error, and reports whether the driver's documentation names it for a deployment in trouble.
func classify(err error) (class string, documented bool) {
	var labelled mongo.LabeledError
	if errors.As(err, &labelled) {
		for _, label := range labels {
			if labelled.HasErrorLabel(label) {
				return label, true
			}
		}
	}
	var command mongo.ServerError
	if errors.As(err, &command) {
		for _, code := range codes {
			if command.HasErrorCode(int(code)) {
				return servererror.CodeName(code), true
			}
		}
	}
	var (
		selection topology.ServerSelectionError
		waiting   topology.WaitQueueTimeoutError
		pool      driver.RetryablePoolError
	)
	switch {
	case errors.As(err, &selection):
		return "server selection", true
	case errors.As(err, &waiting):
		return "wait queue", true
	case errors.As(err, &pool):
		return "connection pool", true
	case mongo.IsNetworkError(err):
		return "network", true
	case mongo.IsTimeout(err), errors.Is(err, context.DeadlineExceeded):
		return "timeout", true
	}
	return "", false
}

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
			report.violation(lostWrites, "%s %d", name, n)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(times)) {
		if times[n] > 1 {
			report.violation(doubledWrites, "%s %d: %d times", name, n, times[n])
		}
		if n < 1 || n > attempted {
			report.violation(foreignWrites, "%s %d", name, n)
		}
	}
}
