// Package gotest runs "go test -json" and turns its event stream into test
// cases that can be counted and compared.
package gotest

import (
	"fmt"
	"time"
)

// Outcome is how a test ended. The zero value means that the test was never
// seen.
type Outcome int

// The outcomes of a test.
const (
	Missing Outcome = iota
	Passed
	Failed
	Skipped
)

// String returns the outcome as a word for tables and messages.
func (o Outcome) String() string {
	switch o {
	case Missing:
		return "missing"
	case Passed:
		return "passed"
	case Failed:
		return "failed"
	case Skipped:
		return "skipped"
	default:
		return fmt.Sprintf("Outcome(%d)", int(o))
	}
}

// Key names one test. Test is the full name of a test or subtest, or empty for anything outside the package's tests, such as a
// compile error.
type Key struct {
	Package string
	Test    string
}

// String returns the key as "package Test/subtest".
func (k Key) String() string {
	if k.Test == "" {
		return k.Package
	}
	return k.Package + " " + k.Test
}

// Less orders keys by package and then by test.
func (k Key) Less(other Key) bool {
	if k.Package != other.Package {
		return k.Package < other.Package
	}
	return k.Test < other.Test
}

// Case is one test with its outcome.
type Case struct {
	Key
	Outcome Outcome
	Elapsed time.Duration
	// Output holds the test's output, without the middle if it is long.
	Output []string
}

// Reason returns the reason that the test gave for being skipped, or "no reason given".
func (c Case) Reason() string {
	return skipReason(c.Output)
}

// Unfinished reports whether the case failed because its process ended, for any reason, before it had a result.
func (c Case) Unfinished() bool {
	return len(c.Output) > 0 && c.Output[len(c.Output)-1] == unfinished
}
