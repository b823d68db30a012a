package backpressure

import (
	"errors"
	"strings"
)

// Interruption is an operation's error together with why there was no time for a retry. The specifications disagree about that case:
// retryable-reads.md and retryable-writes.md return the previous attempt's error; client-side-operations-timeout.md, "Errors", wants
// a timeout error that exposes the underlying one. It is both: errors.As finds the operation's error with its type, code and labels,
// and errors.Is the context's.
type Interruption struct {
	// Err is what the operation would have returned otherwise. It may be nil.
	Err error
	// When says when the operation was interrupted. It is empty if the error around this one says so, and what Err says.
	When string
	// Cause is the context's error.
	Cause error

	labels error // has the labels, if Err has none

	// errors.Is must not compare interruptions: that panics if Err holds a slice, as the exceptions do.
	_ []struct{}
}

// Error implements the error interface.
func (e Interruption) Error() string {
	if e.When == "" {
		return e.Cause.Error()
	}
	var parts []string
	if e.Err != nil {
		parts = append(parts, e.Err.Error())
	}
	return strings.Join(append(parts, e.When, e.Cause.Error()), ": ")
}

// Unwrap returns the operation's error.
func (e Interruption) Unwrap() error { return e.Err }

// Is lets errors.Is find the cause.
func (e Interruption) Is(target error) bool { return errors.Is(e.Cause, target) }

// HasErrorLabel reports whether the operation's error has the label.
func (e Interruption) HasErrorLabel(label string) bool {
	return HasOwnLabel(e.Err, label) || HasOwnLabel(e.labels, label)
}

// Around returns the interruption of an operation that would have returned the error otherwise. Not every exception can have labels: those
// of the error before remain.
func (e Interruption) Around(err error) Interruption {
	if e.labels == nil { // else Around was called before, and they are those of the server's error
		e.labels = e.Err
	}
	e.Err = err
	return e
}

// ErrNeverSent is found by errors.Is in the error of a command that no server may have executed, as its last attempt was not sent. The
// result of such a commit is known.
var ErrNeverSent = errors.New("no attempt was sent that may have been executed")

// ErrOwnLimit is found by errors.Is in the error of a connection that could not be opened because of a limit of the client itself, such as
// that of open files. It says nothing of the server. See topology/own_limit.go.
var ErrOwnLimit = errors.New("a limit of the client itself")
