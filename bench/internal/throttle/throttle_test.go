package throttle

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"golang.org/x/time/rate"

	"mongofork/internal/retry"
)

// The others hold as much as the bucket, in the same parts.
const capacity = 1000 * tenthsOfRetry

// BenchmarkEmptyLoop is what the benchmarks themselves take.
func BenchmarkEmptyLoop(b *testing.B) {
	b.Run(NoLimiter, func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
			}
		})
	})
}

// BenchmarkDepositWhenFull is what each command costs when all is well.
func BenchmarkDepositWhenFull(b *testing.B) {
	b.Run("bucket", func(b *testing.B) {
		bucket := retry.NewTokenBucket()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				bucketDeposit(bucket, tenthsOfSuccess)
			}
		})
	})
	b.Run("aws", func(b *testing.B) {
		bucket := ratelimit.NewTokenBucket(capacity)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				bucket.Refund(tenthsOfSuccess)
			}
		})
	})
}

// BenchmarkConsumeAndDeposit is a retry that succeeds, on all processors at once. The rate limiter fills by itself, so that
// there it is one call.
func BenchmarkConsumeAndDeposit(b *testing.B) {
	b.Run("bucket", func(b *testing.B) {
		bucket := retry.NewTokenBucket()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				bucketConsume(bucket)
				bucketDeposit(bucket, tenthsOfRetry)
			}
		})
		if tokens := bucket.Tokens(); tokens != 1000 {
			b.Errorf("%v tokens are left of 1000", tokens)
		}
	})
	b.Run("aws", func(b *testing.B) {
		bucket := ratelimit.NewTokenBucket(capacity)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				bucket.Retrieve(tenthsOfRetry)
				bucket.Refund(tenthsOfRetry)
			}
		})
		if left := bucket.Remaining(); left != capacity {
			b.Errorf("%d of %d are left", left, capacity)
		}
	})
	b.Run("rate", func(b *testing.B) {
		limiter := rate.NewLimiter(capacity, capacity)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				limiter.Allow()
			}
		})
	})
}

// BenchmarkScarceTokens is a long overload: deposits of a tenth, and more takers than tokens. Exactly what was deposited
// may be taken; one token more is an error.
func BenchmarkScarceTokens(b *testing.B) {
	b.Run("bucket", func(b *testing.B) {
		bucket := retry.NewTokenBucket()
		for bucketConsume(bucket) {
		}
		deposited, taken := contend(b, func() bool { return bucketConsume(bucket) }, func() { bucketDeposit(bucket, tenthsOfSuccess) })
		if left := int64(bucket.Tokens()*tenthsOfRetry + 0.5); taken*tenthsOfRetry+left != deposited {
			b.Errorf("%d retries and %d tenths that are left do not make the %d tenths that were deposited", taken, left, deposited)
		}
	})
	b.Run("aws", func(b *testing.B) {
		bucket := ratelimit.NewTokenBucket(capacity)
		bucket.Retrieve(capacity)
		retrieve := func() bool {
			_, ok := bucket.Retrieve(tenthsOfRetry)
			return ok
		}
		deposited, taken := contend(b, retrieve, func() { bucket.Refund(tenthsOfSuccess) })
		if left := int64(bucket.Remaining()); taken*tenthsOfRetry+left != deposited {
			b.Errorf("%d retries and %d tenths that are left do not make the %d tenths that were deposited", taken, left, deposited)
		}
	})
	b.Run("rate", func(b *testing.B) {
		const perSecond = 1000
		limiter := rate.NewLimiter(perSecond, 1)
		began := time.Now()
		_, taken := contend(b, limiter.Allow, func() {})
		if most := int64(time.Since(began).Seconds()*perSecond) + 1; taken > most {
			b.Errorf("%d were allowed in the time of %d", taken, most)
		}
	})
}

// contend takes and deposits in turn, on all processors at once. It returns how often either was done.
func contend(b *testing.B, take func() bool, deposit func()) (deposited, taken int64) {
	b.Helper()
	var deposits, takes atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		var rounds, got int64
		for ; pb.Next(); rounds++ {
			if take() {
				got++
			}
			deposit()
		}
		deposits.Add(rounds)
		takes.Add(got)
	})
	return deposits.Load(), takes.Load()
}
