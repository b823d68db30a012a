package retry

import (
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// newPolicy returns a policy with the numbers of the specification's revision of 2026-03-12, which makes each backoff half of its longest.
func newPolicy(retryReads, retryWrites bool) *Policy {
	half := func() float64 { return 0.5 }
	return &Policy{RetryReads: retryReads, RetryWrites: retryWrites, MaxRetries: 5, FirstBackoff: BaseBackoff, Jitter: half}
}

// The failures that the tables are made of.
var (
	overloaded     = Failure{Cause: Overload, Left: NoDeadline}
	overloadedOnly = Failure{Cause: Unmarked, Left: NoDeadline}
	overloadedBoth = Failure{Cause: OverloadReadWrite, Left: NoDeadline}
	readWrite      = Failure{Cause: ReadWrite, Left: NoDeadline}
	unestablished  = Failure{Cause: Unestablished, Left: NoDeadline}
	ownLimit       = Failure{Cause: OwnLimit, Left: NoDeadline}
	readWriteOff   = Failure{Cause: ReadWriteOff, Left: NoDeadline}
	other          = Failure{Left: NoDeadline}
)

func within(f Failure, remaining time.Duration) Failure {
	f.Left = remaining
	return f
}

// ended is a failure after which the operation has ended.
func ended(f Failure) Failure {
	f.TimeUp = true
	return f
}

// step is one failed attempt and the verdict that has to follow.
type step struct {
	fails Failure
	want  Verdict
}

func backoff(ms time.Duration) Verdict {
	return Verdict{Retry: true, Backoff: ms * time.Millisecond, Reason: Overloaded}
}

// again is a retry of one of the older specifications, after a backoff if there is one.
func again(ms time.Duration) Verdict {
	return Verdict{Retry: true, Backoff: ms * time.Millisecond, Reason: RetryableReadWrite}
}

func refused(r Reason) Verdict { return Verdict{Reason: r} }

// TestExecutionFailed is about commands that fail again and again.
func TestExecutionFailed(t *testing.T) {
	both, reads, writes, neither := newPolicy(true, true), newPolicy(true, false), newPolicy(false, true), newPolicy(false, false)
	// The revision of 2026-08-13 has these.
	twice, none, noJitter := newPolicy(true, true), newPolicy(true, true), newPolicy(true, true)
	twice.MaxRetries, twice.FirstBackoff = 2, 2*BaseBackoff
	none.MaxRetries, none.FirstBackoff = Never, 2*BaseBackoff
	noJitter.Jitter = func() float64 { return 0 }
	serverWants := overloaded
	serverWants.FirstBackoff = 30 * time.Millisecond
	retried := step{readWrite, again(0)}

	for _, tt := range []struct {
		name   string
		policy *Policy
		kind   Kind
		limit  Limit
		steps  []step
	}{
		{"overload is retried five times with doubling backoff", both, Write, Once, []step{
			{overloaded, backoff(50)}, {overloaded, backoff(100)}, {overloaded, backoff(200)}, {overloaded, backoff(400)},
			{overloaded, backoff(800)}, {overloaded, refused(LimitReached)},
		}},
		{"commands that no other policy retries are retried", both, Generic, Never,
			[]step{{overloaded, backoff(50)}, {other, refused(NotRetryable)}}},
		{"without overload the old limit holds", both, Read, Once, []step{retried, {readWrite, refused(LimitReached)}}},
		{"under a timeout the old limit is none", both, Read, Unlimited,
			[]step{retried, retried, retried, retried, retried, retried, retried, retried}},
		{"after an overload error the limit is five for every policy", both, Read, Once,
			[]step{{overloaded, backoff(50)}, retried, retried, retried, retried, {readWrite, refused(LimitReached)}}},
		{"also under a timeout", both, Read, Unlimited,
			[]step{retried, retried, {overloaded, backoff(200)}, retried, retried, {readWrite, refused(LimitReached)}}},
		{"retries before the overload count against the limit of five", both, Read, Unlimited,
			[]step{retried, retried, retried, retried, retried, retried, {overloaded, refused(LimitReached)}}},
		{"the exponent counts all attempts", both, Write, Once,
			[]step{retried, {overloaded, backoff(100)}, retried, {overloaded, backoff(400)}}},
		{"an overload error that is retryable otherwise backs off", both, Read, Once,
			[]step{{overloadedBoth, backoff(50)}, {overloadedBoth, backoff(100)}}},
		{"the limit and the first backoff are the policy's", twice, Write, Once,
			[]step{{overloaded, backoff(100)}, {overloaded, backoff(200)}, {overloaded, refused(LimitReached)}}},
		{"a limit of none is none", none, Write, Once, []step{{overloaded, refused(LimitReached)}}},
		{"and holds for every policy, once an overload error was seen", none, Read, Unlimited,
			[]step{retried, retried, {overloadedBoth, refused(LimitReached)}}},
		{"a first backoff of the server's takes the place of the policy's", both, Write, Once,
			[]step{{serverWants, backoff(15)}, {serverWants, backoff(30)}, {overloaded, backoff(200)}}},
		{"what is left is enough for a backoff of nothing", noJitter, Write, Once,
			[]step{{within(overloaded, 1), backoff(0)}, {within(overloaded, 0), refused(DeadlineTooClose)}}},
		{"SystemOverloadedError alone is not retried", both, Write, Once, []step{{overloadedOnly, refused(LabelMissing)}}},
		{"an error that retryReads would retry says so", writes, Read, Never, []step{{readWriteOff, refused(OptionOff)}}},
		{"but not if the option is on", both, Read, Never, []step{{readWriteOff, refused(NotRetryable)}}},
		{"nor if the command is exempt", nil, Read, Never, []step{{readWriteOff, refused(NotRetryable)}}},
		{"reads need retryReads", writes, Read, Never, []step{{overloaded, refused(OptionOff)}}},
		{"reads do not need retryWrites", reads, Read, Never, []step{{overloaded, backoff(50)}}},
		{"writes need retryWrites", reads, Write, Never, []step{{overloaded, refused(OptionOff)}}},
		{"writes do not need retryReads", writes, Write, Never, []step{{overloaded, backoff(50)}}},
		{"runCommand needs retryReads", writes, Generic, Never, []step{{overloaded, refused(OptionOff)}}},
		{"runCommand needs retryWrites", reads, Generic, Never, []step{{overloaded, refused(OptionOff)}}},
		{"the end of a transaction needs no option", neither, TransactionEnd, Once, []step{{overloaded, backoff(50)}, retried}},
		{"a backoff that passes the deadline is refused", both, Write, Once, []step{
			{within(overloaded, 50*time.Millisecond), backoff(50)}, {within(overloaded, 99*time.Millisecond), refused(DeadlineTooClose)},
		}},
		{"a retry without backoff does not mind the deadline", both, Write, Once, []step{{within(readWrite, 0), again(0)}}},
		{"no retry after the context ended the attempt", both, Read, Once, []step{{ended(readWrite), refused(DeadlineTooClose)}}},
		{"which says nothing of what is not retried anyway", both, Read, Once, []step{{ended(other), refused(NotRetryable)}}},
		{"or has been retried as often as it may", both, Read, Once, []step{retried, {ended(readWrite), refused(LimitReached)}}},
		{"what was executed is not decided about", both, Write, Once,
			[]step{{overloaded, backoff(50)}, {Failure{Cause: Executed, TimeUp: true}, Verdict{}}}},
		{"nothing is retried that nobody waits for", both, Write, Once, []step{
			{overloaded, backoff(50)}, {within(overloaded, 0), refused(DeadlineTooClose)}, {ended(overloaded), refused(DeadlineTooClose)},
		}},
		{"without a connection once, and at once, also under a timeout", both, Read, Unlimited,
			[]step{retried, {unestablished, again(0)}, retried, {unestablished, refused(LimitReached)}}},
		{"a client at its own limit waits, also under a timeout", both, Read, Unlimited,
			[]step{{ownLimit, again(50)}, {ownLimit, again(100)}, {within(ownLimit, time.Millisecond), refused(DeadlineTooClose)}}},
		{"or tries once again where no policy can tell it to wait", nil, Read, Unlimited,
			[]step{{ownLimit, again(0)}, {ownLimit, refused(LimitReached)}}},
		{"nor what only cleans up", both, CleanUp, Never, []step{{overloaded, refused(NotRetryable)}}},
		{"an exempt command knows no overload", nil, Generic, Never, []step{{overloaded, refused(NotRetryable)}}},
		{"an exempt command keeps the old rules", nil, Read, Once,
			[]step{{overloadedBoth, again(0)}, {readWrite, refused(LimitReached)}}},
	} {
		execution := tt.policy.Start(tt.kind, tt.limit)
		for i, s := range tt.steps {
			if diff := cmp.Diff(s.want, execution.Failed(s.fails)); diff != "" {
				t.Errorf("%s: attempt %d (-want +got):\n%s", tt.name, i+1, diff)
			}
		}
	}
}

func TestBackoff(t *testing.T) {
	// The specification: "This results in delays of 100ms, 200ms, 400ms, 800ms, and 1600ms before accounting for jitter."
	for i, ms := range []time.Duration{100, 200, 400, 800, 1600, 3200, 6400, 10000, 10000} {
		for jitter, part := range map[float64]time.Duration{0: 0, 0.5: time.Millisecond / 2, 1: time.Millisecond} {
			if got := Backoff(BaseBackoff, i+1, jitter); got != ms*part {
				t.Errorf("attempt %d, jitter %v: got %v, want %v", i+1, jitter, got, ms*part)
			}
		}
	}
	for _, first := range []time.Duration{1, BaseBackoff, math.MaxInt64} {
		if got := Backoff(first, math.MaxInt, 1); got != 10*time.Second {
			t.Errorf("Backoff(%v, MaxInt, 1) = %v, want 10s", first, got)
		}
	}
}

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
