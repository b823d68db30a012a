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

// tokenTest is a command and what it costs. An outcome is a Failure, or nil for success. The tokens are tenths, before and after all of
// them.
type tokenTest struct {
	name     string
	tokens   int64
	outcomes []*Failure
	last     Reason // of the last verdict, empty if the last outcome is a success
	want     int64
}

func (tt tokenTest) run(t *testing.T) {
	bucket := holding(tt.tokens)
	policy := newPolicy(true, true)
	policy.Bucket = bucket
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
	if last != tt.last {
		t.Errorf("last verdict: %v, want %v", last, tt.last)
	}
	if got := bucket.tenths.Load(); got != tt.want {
		t.Errorf("bucket holds %d tenths, want %d", got, tt.want)
	}
}

func TestExecutionTokens(t *testing.T) {
	tests := []tokenTest{
		{name: "a retry that was executed succeeds", tokens: 500, outcomes: []*Failure{&overloaded, {Cause: Executed}}, last: "",
			want: 500 - 10 + 11},
		{name: "first attempt succeeds", tokens: 500, outcomes: []*Failure{nil}, last: "", want: 501},
		{name: "retry succeeds", tokens: 500, outcomes: []*Failure{&overloaded, nil}, last: "", want: 500 - 10 + 11},
		{name: "third retry succeeds", tokens: 500, outcomes: []*Failure{&overloaded, &overloaded, &overloaded, nil}, last: "",
			want: 500 - 30 + 11},
		{name: "retry fails otherwise", tokens: 500, outcomes: []*Failure{&overloaded, &other}, last: NotRetryable, want: 500},
		{name: "retry fails otherwise and is retried", tokens: 500, outcomes: []*Failure{&overloaded, &readWrite, nil}, last: "",
			want: 500 - 10 + 10 + 11},
		{name: "first attempt fails otherwise", tokens: 500, outcomes: []*Failure{&other}, last: NotRetryable, want: 500},
		{name: "other retries are free", tokens: 500, outcomes: []*Failure{&readWrite}, last: RetryableReadWrite, want: 500},
		{name: "the client cannot connect, nor by a retry", tokens: 500, outcomes: []*Failure{&ownLimit, &ownLimit}, last: LimitReached,
			want: 500},
		{name: "the client cannot connect, then succeeds", tokens: 500, outcomes: []*Failure{&ownLimit, nil}, last: "", want: 501},
		{name: "the client cannot connect for a retry", tokens: 500, outcomes: []*Failure{&overloaded, &ownLimit, &ownLimit},
			last: RetryableReadWrite, want: 490},
		{name: "nor for a retry that was free", tokens: 500, outcomes: []*Failure{&readWrite, &ownLimit}, last: LimitReached, want: 500},
		{name: "the retry then succeeds", tokens: 500, outcomes: []*Failure{&overloaded, &ownLimit, nil}, last: "", want: 500 - 10 + 11},
		{name: "the retry is then rejected", tokens: 500, outcomes: []*Failure{&overloaded, &ownLimit, &overloaded}, last: Overloaded,
			want: 480},
		{name: "each overload retry costs one", tokens: 500, outcomes: []*Failure{&overloaded, &overloaded, &overloaded},
			last: Overloaded, want: 470},
		{name: "the retry that the limit refuses is free", tokens: 500,
			outcomes: []*Failure{&overloaded, &overloaded, &overloaded, &overloaded, &overloaded, &overloaded},
			last:     LimitReached, want: 450},
		{name: "the retry that the deadline refuses is free", tokens: 500,
			outcomes: []*Failure{{Cause: Overload, Left: time.Millisecond}}, last: DeadlineTooClose, want: 500},
		{name: "an overload error that is not retryable is free", tokens: 500, outcomes: []*Failure{&overloadedOnly},
			last: LabelMissing, want: 500},
		{name: "and refunds nothing", tokens: 500, outcomes: []*Failure{&overloaded, &overloadedOnly}, last: LabelMissing,
			want: 490},
		{name: "two tokens are two retries", tokens: 20, outcomes: []*Failure{&overloaded, &overloaded, &overloaded},
			last: BucketEmpty},
		{name: "a part of a token is none", tokens: 9, outcomes: []*Failure{&overloaded}, last: BucketEmpty, want: 9},
		{name: "capacity caps", tokens: 10_000, outcomes: []*Failure{nil}, last: "", want: 10_000},
		{name: "capacity caps a part", tokens: 9_995, outcomes: []*Failure{&readWrite, nil}, last: "", want: 10_000},
	}
	for _, tt := range tests {
		t.Run(tt.name, tt.run)
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
		t.Errorf("bucket holds %d tenths after %d retries, want %d", got, bought.Load(), want)
	}
}
