package retry

import "sync/atomic"

// The constants of client-backpressure.md, "Token Bucket" and "Adaptive retry policy". The bucket counts in tenths of a token,
// the specification's smallest part, because sums of the floating-point 0.1 drift.
const (
	// TokenCapacity (DEFAULT_RETRY_TOKEN_CAPACITY) is how many tokens a bucket holds.
	TokenCapacity = 1000

	token = 10 // tenths

	retryCost          = 1 * token
	retryReturn        = 1 * token
	successReturn      = 1 // RETRY_TOKEN_RETURN_RATE, 0.1 tokens
	retrySuccessReturn = retryReturn + successReturn
)

// cacheLine is the size of a cache line on the machines that matter.
const cacheLine = 64

// TokenBucket limits the retries of one client after overload errors. It starts full. It is exact and safe for concurrent use: it
// never gives more than it holds, and never holds more than its capacity. A nil TokenBucket sets no limit.
type TokenBucket struct {
	_      [cacheLine]byte // all goroutines of a client share the count; nothing else should share its cache line
	tenths atomic.Int64
	_      [cacheLine - 8]byte // 8 is the size of the count
}

// NewTokenBucket returns a bucket that holds its full capacity of tokens.
func NewTokenBucket() *TokenBucket {
	b := new(TokenBucket)
	b.tenths.Store(TokenCapacity * token)
	return b
}

// Tokens returns the number of tokens in the bucket, in [0, 1000].
func (b *TokenBucket) Tokens() float64 {
	return float64(b.tenths.Load()) / token
}

// consume takes the cost of a retry. If the bucket holds less, or no more than the reserve, it takes nothing and reports false.
func (b *TokenBucket) consume(reserve float64) bool {
	if b == nil {
		return true
	}
	for {
		tokens := b.tenths.Load()
		if tokens < retryCost || float64(tokens) <= reserve*token {
			return false
		}
		if b.tenths.CompareAndSwap(tokens, tokens-retryCost) {
			return true
		}
	}
}

// deposit returns tokens, given in tenths, up to the capacity. A full bucket, the normal state of a healthy system, is only read,
// without a function call, because every command pays for this.
func (b *TokenBucket) deposit(tenths int64) {
	if b == nil || b.tenths.Load() == TokenCapacity*token {
		return
	}
	b.fill(tenths)
}

// fill is deposit for a bucket that is not full.
func (b *TokenBucket) fill(tenths int64) {
	for {
		tokens := b.tenths.Load()
		filled := tokens + tenths
		if filled > TokenCapacity*token {
			filled = TokenCapacity * token
		}
		if b.tenths.CompareAndSwap(tokens, filled) {
			return
		}
	}
}

// BucketEmpty is a reason for no retry.
const BucketEmpty Reason = "bucketEmpty"

// GiveBack returns the token of a retry after an overload error that Failed permitted, and that is not made.
func (e *Execution) GiveBack() { e.policy.Bucket.deposit(retryCost) }

// Succeeded records the success of an attempt, which ends the execution.
func (e *Execution) Succeeded() {
	switch {
	case e.policy == nil: // an exempt command has no bucket
	case e.retrying:
		e.policy.Bucket.deposit(retrySuccessReturn)
	default:
		e.policy.Bucket.deposit(successReturn)
	}
}
