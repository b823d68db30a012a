package retry

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// holding returns a bucket that holds so many tenths of a token.
func holding(tenths int64) *TokenBucket {
	b := NewTokenBucket()
	b.tenths.Store(tenths)
	return b
}

// TestExecutionTokens is about a command and what it costs. An outcome is a Failure, or nil for success. The tokens are tenths, before and
// after all of them. The reason is that of the last verdict, empty if the last outcome is a success.
func TestExecutionTokens(t *testing.T) {
	rejected := &overloaded
	for _, tt := range []struct {
		name     string
		tokens   int64
		outcomes []*Failure
		last     Reason
		want     int64
	}{
		{"a retry that was executed succeeds", 500, []*Failure{rejected, {Cause: Executed}}, "", 500 - 10 + 11},
		{"first attempt succeeds", 500, []*Failure{nil}, "", 501},
		{"third retry succeeds", 500, []*Failure{rejected, rejected, rejected, nil}, "", 500 - 30 + 11},
		{"retry fails otherwise", 500, []*Failure{rejected, &other}, NotRetryable, 500},
		{"retry fails otherwise and is retried", 500, []*Failure{rejected, &readWrite, nil}, "", 500 - 10 + 10 + 11},
		{"first attempt fails otherwise", 500, []*Failure{&other}, NotRetryable, 500},
		{"other retries are free", 500, []*Failure{&readWrite}, RetryableReadWrite, 500},
		{"the client cannot connect, nor by a retry", 500, []*Failure{&ownLimit, &ownLimit}, LimitReached, 500},
		{"the client cannot connect, then succeeds", 500, []*Failure{&ownLimit, nil}, "", 501},
		{"the client cannot connect for a retry", 500, []*Failure{rejected, &ownLimit, &ownLimit}, RetryableReadWrite, 490},
		{"nor for a retry that was free", 500, []*Failure{&readWrite, &ownLimit}, LimitReached, 500},
		{"the retry then succeeds", 500, []*Failure{rejected, &ownLimit, nil}, "", 500 - 10 + 11},
		{"the retry is then rejected", 500, []*Failure{rejected, &ownLimit, rejected}, Overloaded, 480},
		{"each overload retry costs one", 500, []*Failure{rejected, rejected, rejected}, Overloaded, 470},
		{"the retry that the limit refuses is free", 500, []*Failure{rejected, rejected, rejected, rejected, rejected, rejected},
			LimitReached, 450},
		{"the retry that the deadline refuses is free", 500, []*Failure{{Cause: Overload, Left: time.Millisecond}}, DeadlineTooClose, 500},
		{"an overload error that is not retryable is free", 500, []*Failure{&overloadedOnly}, LabelMissing, 500},
		{"and refunds nothing", 500, []*Failure{rejected, &overloadedOnly}, LabelMissing, 490},
		{"two tokens are two retries", 20, []*Failure{rejected, rejected, rejected}, BucketEmpty, 0},
		{"a part of a token is none", 9, []*Failure{rejected}, BucketEmpty, 9},
		{"capacity caps", 10_000, []*Failure{nil}, "", 10_000},
		{"capacity caps a part", 9_995, []*Failure{&readWrite, nil}, "", 10_000},
	} {
		policy := newPolicy(true, true)
		policy.Bucket = holding(tt.tokens)
		execution := policy.Start(Write, Once)
		var last Reason
		for _, failure := range tt.outcomes {
			if failure == nil {
				last = ""
				execution.Succeeded()
				continue
			}
			last = execution.Failed(*failure).Reason
		}
		if got := policy.Bucket.tenths.Load(); last != tt.last || got != tt.want {
			t.Errorf("%s: the last verdict %q and %d tenths of a token, want %q and %d", tt.name, last, got, tt.last, tt.want)
		}
	}
}

// TestTokenBucketConcurrent checks the exact balance after concurrent use: below the capacity nothing is lost, and no
// more is bought than was there.
func TestTokenBucketConcurrent(t *testing.T) {
	const goroutines, rounds, start = 8, 2000, 3000
	bucket := holding(start)
	var bought atomic.Int64
	var wg sync.WaitGroup
	for i := 0; i < goroutines; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for j := 0; j < rounds; j++ {
				if bucket.consume(0) {
					bought.Add(1)
				}
				if j%10 == 0 {
					bucket.deposit(1)
				}
				if held := bucket.tenths.Load(); held < 0 || held > 10_000 {
					t.Errorf("bucket holds %d tenths", held)
				}
			}
		}()
	}
	wg.Wait()
	deposited := int64(goroutines * rounds / 10)
	if got, want := bucket.tenths.Load(), start+deposited-bought.Load()*10; got != want {
		t.Errorf("%d tenths after %d retries, want %d", got, bought.Load(), want)
	}
}
