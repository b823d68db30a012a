package retry

import "sync/atomic"

// The constants of client-backpressure.md, "Token Bucket" and "Adaptive retry policy". The specification counts in
// tokens of which the smallest part is a tenth, and so does the bucket: sums of the floating-point 0.1 drift.
const (
	token = 10 // tenths

	tokenCapacity      = 1000 * token // DEFAULT_RETRY_TOKEN_CAPACITY
	retryCost          = 1 * token
	retryReturn        = 1 * token
	successReturn      = 1 // RETRY_TOKEN_RETURN_RATE, 0.1 tokens
	retrySuccessReturn = retryReturn + successReturn
)

// cacheLine is the size of a cache line on the machines that matter.
const cacheLine = 64

// TokenBucket limits the retries of one client after overload errors. It starts full. It is exact and safe for
// concurrent use: it never hands out more than it holds, and never holds more than its capacity. A nil TokenBucket sets
// no limit.
type TokenBucket struct {
	_      [cacheLine]byte // all goroutines of a client share the count; nothing else should share its cache line
	tenths atomic.Int64
	_      [cacheLine - 8]byte
}

// NewTokenBucket returns a bucket that holds its full capacity of 1000 tokens.
func NewTokenBucket() *TokenBucket {
	b := new(TokenBucket)
	b.tenths.Store(tokenCapacity)
	return b
}

// Tokens returns how many tokens the bucket holds, in [0, 1000].
func (b *TokenBucket) Tokens() float64 {
	return float64(b.tenths.Load()) / token
}

// consume takes the cost of a retry. It reports false, and takes nothing, if the bucket holds less.
func (b *TokenBucket) consume() bool {
	if b == nil {
		return true
	}
	for {
		held := b.tenths.Load()
		if held < retryCost {
			return false
		}
		if b.tenths.CompareAndSwap(held, held-retryCost) {
			return true
		}
	}
}

// deposit returns tokens, given in tenths, up to the capacity. A full bucket, which is what it is in a healthy system, is
// only read, and that without a call: it is what every command costs.
func (b *TokenBucket) deposit(tenths int64) {
	if b == nil || b.tenths.Load() == tokenCapacity {
		return
	}
	b.fill(tenths)
}

// fill is deposit for a bucket that is not full.
func (b *TokenBucket) fill(tenths int64) {
	for {
		held := b.tenths.Load()
		filled := held + tenths
		if filled > tokenCapacity {
			filled = tokenCapacity
		}
		if b.tenths.CompareAndSwap(held, filled) {
			return
		}
	}
}
