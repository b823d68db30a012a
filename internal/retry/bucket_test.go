package retry

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/quick"
	"time"
)

// holding returns a bucket that holds so many tenths of a token.
func holding(tenths int64) *TokenBucket {
	b := NewTokenBucket()
	b.tenths.Store(tenths)
	return b
}

func TestExecutionTokens(t *testing.T) {
	// An outcome is a Failure, or nil for success. The tokens are tenths, before and after all of them.
	tests := []struct {
		name     string
		tokens   int64
		outcomes []*Failure
		last     Reason // of the last verdict, zero if the last outcome is a success
		want     int64
	}{
		{"first attempt succeeds", 500, []*Failure{nil}, 0, 501},
		{"retry succeeds", 500, []*Failure{&overloaded, nil}, 0, 500 - 10 + 11},
		{"third retry succeeds", 500, []*Failure{&overloaded, &overloaded, &overloaded, nil}, 0, 500 - 30 + 11},
		{"retry fails otherwise", 500, []*Failure{&overloaded, &other}, NotRetryable, 500},
		{"retry fails otherwise and is retried", 500, []*Failure{&overloaded, &readWrite, nil}, 0, 500 - 10 + 10 + 11},
		{"first attempt fails otherwise", 500, []*Failure{&other}, NotRetryable, 500},
		{"other retries are free", 500, []*Failure{&readWrite}, RetryableReadWrite, 500},
		{"each overload retry costs one", 500, []*Failure{&overloaded, &overloaded, &overloaded}, Overloaded, 470},
		{"the retry that the limit refuses is free", 500,
			[]*Failure{&overloaded, &overloaded, &overloaded, &overloaded, &overloaded, &overloaded}, LimitReached, 450},
		{"the retry that the deadline refuses is free", 500,
			[]*Failure{{Overload: true, Retryable: true, Remaining: time.Millisecond}}, DeadlineTooClose, 500},
		{"an overload error that is not retryable is free", 500, []*Failure{&overloadedOnly}, LabelMissing, 500},
		{"and refunds nothing", 500, []*Failure{&overloaded, &overloadedOnly}, LabelMissing, 490},
		{"two tokens are two retries", 20, []*Failure{&overloaded, &overloaded, &overloaded}, BucketEmpty, 0},
		{"a part of a token is none", 9, []*Failure{&overloaded}, BucketEmpty, 9},
		{"capacity caps", tokenCapacity, []*Failure{nil}, 0, tokenCapacity},
		{"capacity caps a part", tokenCapacity - 5, []*Failure{&readWrite, nil}, 0, tokenCapacity},
	}
	for _, tt := range tests {
		tt := tt
		t.Run(tt.name, func(t *testing.T) {
			bucket := holding(tt.tokens)
			policy := newPolicy(true, true)
			policy.Bucket = bucket
			execution := policy.Start(Write, Once)

			var last Reason
			for _, failure := range tt.outcomes {
				if failure == nil {
					last = 0
					execution.Succeeded()
					continue
				}
				last = execution.Failed(*failure).Reason
			}
			if last != tt.last {
				t.Errorf("last verdict: %v, want %v", last, tt.last)
			}
			if got := bucket.tenths.Load(); got != tt.want {
				t.Errorf("bucket holds %d tenths, want %d", got, tt.want)
			}
		})
	}
}

func TestTokenBucketStartsFull(t *testing.T) {
	if got := NewTokenBucket().Tokens(); got != 1000 {
		t.Fatalf("a new bucket holds %v tokens, want 1000", got)
	}
}

func TestTokenBucketDoesNotDrift(t *testing.T) {
	bucket := holding(0)
	for i := 0; i < 10; i++ {
		if bucket.consume() {
			t.Fatalf("%d tenths bought a retry", i)
		}
		bucket.deposit(successReturn)
	}
	if !bucket.consume() {
		t.Fatal("ten successes bought no retry")
	}
}

// TestTokenBucketProperties holds the bucket against a plain count, over random sequences.
func TestTokenBucketProperties(t *testing.T) {
	agrees := func(start uint16, steps []uint8) bool {
		count := int64(start) % (tokenCapacity + 1)
		bucket := holding(count)
		for _, step := range steps {
			switch step % 4 {
			case 0:
				if bought := bucket.consume(); bought != (count >= retryCost) {
					return false
				} else if bought {
					count -= retryCost
				}
			default:
				returned := []int64{successReturn, retryReturn, retrySuccessReturn}[step%4-1]
				bucket.deposit(returned)
				if count += returned; count > tokenCapacity {
					count = tokenCapacity
				}
			}
			if bucket.tenths.Load() != count {
				return false
			}
		}
		return true
	}
	if err := quick.Check(agrees, nil); err != nil {
		t.Error(err)
	}
}

// TestTokenBucketConcurrent checks the exact balance after concurrent use: below the capacity nothing is lost, and no
// more is bought than was there.
func TestTokenBucketConcurrent(t *testing.T) {
	const (
		goroutines = 8
		rounds     = 2000
		start      = 3000
	)
	bucket := holding(start)
	var bought atomic.Int64
	var wg sync.WaitGroup
	for i := 0; i < goroutines; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for j := 0; j < rounds; j++ {
				if bucket.consume() {
					bought.Add(1)
				}
				if j%10 == 0 {
					bucket.deposit(successReturn)
				}
				if held := bucket.tenths.Load(); held < 0 || held > tokenCapacity {
					t.Errorf("bucket holds %d tenths", held)
				}
			}
		}()
	}
	wg.Wait()

	deposited := int64(goroutines * rounds / 10 * successReturn)
	if got, want := bucket.tenths.Load(), start+deposited-bought.Load()*retryCost; got != want {
		t.Errorf("bucket holds %d tenths after %d retries, want %d", got, bought.Load(), want)
	}
}

// BenchmarkDepositWhenFull is what a command costs when all is well.
func BenchmarkDepositWhenFull(b *testing.B) {
	b.Run("inlined", func(b *testing.B) {
		bucket := NewTokenBucket()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				bucket.deposit(successReturn)
			}
		})
	})
}

// BenchmarkConsumeAndDeposit is a retry that succeeds.
func BenchmarkConsumeAndDeposit(b *testing.B) {
	b.Run("inlined", func(b *testing.B) {
		bucket := NewTokenBucket()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				bucket.consume()
				bucket.deposit(retryReturn)
			}
		})
	})
}
