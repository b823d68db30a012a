// Package retry decides whether a failed command is sent again.
//
// It holds the overload retry policy of MongoDB's Client Backpressure specification and its interaction with the Retryable Reads
// and Retryable Writes specifications. It only decides: it has no context, no clock and no random source, and knows no type of
// the driver. The caller classifies a failure, asks for a Verdict and carries it out.
//
// One Policy belongs to a client. Policy.Start begins the Execution of one command, which takes the outcome of each attempt in
// order. A nil Policy is for commands that the specification exempts (monitoring, connection establishment, authentication): only
// the older read and write rules apply to them.
package retry

import (
	"math"
	"time"
)

// The constants of client-backpressure.md, "Overload retry policy", that hold in all its revisions.
const (
	// BaseBackoff (BASE_BACKOFF) is the unit of backoffs.
	BaseBackoff = 100 * time.Millisecond

	// MaxBackoff (MAX_BACKOFF) bounds every backoff. With five retries none is as long, unless a server sets the base.
	MaxBackoff = 10 * time.Second
)

// Limit is a number of retries.
type Limit int

// The limits for a command under the Retryable Reads and Retryable Writes specifications, until it meets an overload error.
const (
	// Never is the limit for commands that those specifications do not retry.
	Never Limit = 0
	// Once is the limit without a client-side timeout.
	Once Limit = 1
	// Unlimited is the limit under a client-side timeout, which then ends the retries.
	Unlimited Limit = math.MaxInt
)

// LimitOf returns the limit that a client's option asks for.
func LimitOf(n uint) Limit {
	if n > uint(Unlimited) {
		return Unlimited // Limit(n) would be negative
	}
	return Limit(n)
}

// Kind says which of the client's options permits retries of a command after overload errors.
type Kind uint8

const (
	// Generic is runCommand and every command of unknown kind. Both retryReads and retryWrites have to be on, see
	// "Why must both retryWrites and retryReads be enabled to retry runCommand?".
	Generic Kind = iota
	// Read needs retryReads.
	Read
	// Write needs retryWrites.
	Write
	// TransactionEnd is commitTransaction and abortTransaction, which are retried regardless of the options (transactions.md,
	// "Interaction with Retryable Writes").
	TransactionEnd
	// CleanUp is the killCursors of a cursor that closes itself, whose result is ignored. It is not retried: an
	// overloaded server has better things to do, and eventually cleans up by itself.
	CleanUp
)

// Policy is a client's overload retry policy. It must not be changed once it is in use; it is safe for concurrent use if
// Jitter is.
type Policy struct {
	// RetryReads and RetryWrites are the client's options of those names.
	RetryReads, RetryWrites bool

	// MaxRetries (MAX_RETRIES) limits a command's retries under all policies once one of its attempts met an overload error.
	// Never permits no retry from then on.
	MaxRetries Limit

	// FirstBackoff is the longest backoff before the first retry. It doubles with each further attempt.
	FirstBackoff time.Duration

	// Jitter returns a random number in [0, 1).
	Jitter func() float64

	// Bucket limits the retries after overload errors of a client with adaptiveRetries. Without that option it is nil.
	Bucket *TokenBucket
}

// Start begins the execution of a command. The limit is that of the Retryable Reads and Retryable Writes specifications for this
// command, or Never if they do not cover it or their option is off.
func (p *Policy) Start(kind Kind, limit Limit) Execution {
	return Execution{policy: p, kind: kind, limit: limit}
}

// permits reports whether the client's options let commands of this kind be retried. For CleanUp, uncovered does not ask.
func (p *Policy) permits(kind Kind) bool {
	switch kind {
	case Read:
		return p.RetryReads
	case Write:
		return p.RetryWrites
	case TransactionEnd:
		return true
	default:
		return p.RetryReads && p.RetryWrites
	}
}
