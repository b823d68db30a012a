package retry

import (
	"testing"
	"time"
)

// throttled is an attempt that was not sent, and lasting one in an overload that lasts.
var (
	throttled = Failure{Cause: HeldBack, Left: NoDeadline}
	lasting   = Failure{Cause: HeldBack, Left: NoDeadline, Lasts: true}
)

func newPolicyOf(retries Limit) *Policy {
	policy := newPolicy(true, true)
	policy.MaxRetries = retries
	return policy
}

func TestExecutionThrottled(t *testing.T) {
	both := newPolicy(true, true)
	tests := []verdictTest{
		{name: "an attempt that was not sent backs off like one that was rejected", policy: both, kind: Write, limit: Once,
			steps: []step{
				{fails: throttled, want: Verdict{Retry: true, Backoff: 50 * time.Millisecond, Reason: Throttled}},
				{fails: overloaded, want: backoff(100)},
				{fails: throttled, want: Verdict{Retry: true, Backoff: 200 * time.Millisecond, Reason: Throttled}},
				{fails: throttled, want: Verdict{Retry: true, Backoff: 400 * time.Millisecond, Reason: Throttled}},
				{fails: throttled, want: Verdict{Retry: true, Backoff: 800 * time.Millisecond, Reason: Throttled}},
				{fails: throttled, want: refused(LimitReached)},
			}},
		{name: "the reason against its retry is the true one", policy: newPolicy(false, false), kind: Write, limit: Once,
			steps: []step{
				{fails: throttled, want: refused(OptionOff)},
			}},
		{name: "also if it is the deadline", policy: both, kind: Write, limit: Once, steps: []step{
			{fails: within(throttled, 49*time.Millisecond), want: refused(DeadlineTooClose)},
		}},
		{name: "there has to be time for the reply, too", policy: both, kind: Write, limit: Once, steps: []step{
			{fails: replying(overloaded, 149*time.Millisecond, 100*time.Millisecond), want: refused(DeadlineTooClose)},
		}},
		{name: "there is", policy: both, kind: Write, limit: Once, steps: []step{
			{fails: replying(overloaded, 150*time.Millisecond, 100*time.Millisecond), want: backoff(50)},
		}},
		{name: "it is not retried in an overload that lasts", policy: both, kind: Write, limit: Once, steps: []step{
			{fails: overloaded, want: backoff(50)},
			{fails: lasting, want: refused(Throttled)},
		}},
		{name: "nor in time", policy: both, kind: Write, limit: Once, steps: []step{
			{fails: within(lasting, 50*time.Millisecond), want: refused(Throttled)},
		}},
		{name: "unless the deadline is the reason", policy: both, kind: Write, limit: Once, steps: []step{
			{fails: within(lasting, 49*time.Millisecond), want: refused(DeadlineTooClose)},
		}},
		{name: "or the limit", policy: newPolicyOf(Never), kind: Write, limit: Once, steps: []step{
			{fails: within(lasting, 49*time.Millisecond), want: refused(LimitReached)},
		}},
		{name: "or the option", policy: newPolicy(false, false), kind: Write, limit: Once, steps: []step{
			{fails: lasting, want: refused(OptionOff)},
		}},
		{name: "or it is spared", policy: both, kind: Write, limit: Once, steps: []step{
			{fails: Failure{Cause: HeldBack, Left: NoDeadline, Lasts: true, Spared: true},
				want: Verdict{Retry: true, Backoff: 50 * time.Millisecond, Reason: Throttled}},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, tt.run)
	}
}

func replying(f Failure, left, reply time.Duration) Failure {
	f.Left, f.ReplyTime = left, reply
	return f
}

// TestExecutionSpared: five attempts of a command may be held back without counting to the limit, with backoffs that are the same on
// every base.
func TestExecutionSpared(t *testing.T) {
	policy := newPolicy(true, true)
	policy.MaxRetries, policy.FirstBackoff = 2, 2*BaseBackoff
	execution := policy.Start(Write, Once)
	spared := throttled
	spared.Spared = true
	for i, s := range []step{
		{fails: spared, want: Verdict{Retry: true, Backoff: 50 * time.Millisecond, Reason: Throttled}},
		{fails: overloaded, want: backoff(100)},
		{fails: spared, want: Verdict{Retry: true, Backoff: 100 * time.Millisecond, Reason: Throttled}},
		{fails: spared, want: Verdict{Retry: true, Backoff: 200 * time.Millisecond, Reason: Throttled}},
		{fails: spared, want: Verdict{Retry: true, Backoff: 400 * time.Millisecond, Reason: Throttled}},
		{fails: spared, want: Verdict{Retry: true, Backoff: 800 * time.Millisecond, Reason: Throttled}},
		{fails: spared, want: Verdict{Retry: true, Backoff: 200 * time.Millisecond, Reason: Throttled}},
		{fails: spared, want: refused(LimitReached)},
	} {
		if got := execution.Failed(s.fails); got != s.want {
			t.Errorf("step %d: %+v, want %+v", i+1, got, s.want)
		}
		if execution.First() {
			t.Errorf("step %d: an attempt after it is the first", i+1)
		}
	}
}

// TestExecutionThrottledTokens: an attempt that was not sent pays nothing, and what follows gets nothing back for it.
func TestExecutionThrottledTokens(t *testing.T) {
	tests := []tokenTest{
		{name: "an attempt that was not sent is free", tokens: 500, outcomes: []*Failure{&throttled}, last: Throttled, want: 500},
		{
			name:     "and what is sent after it is the first attempt",
			tokens:   500,
			outcomes: []*Failure{&throttled, &throttled, nil},
			last:     "",
			want:     501,
		},
		{
			name:     "which returns nothing if it fails otherwise",
			tokens:   500,
			outcomes: []*Failure{&throttled, &other},
			last:     NotRetryable,
			want:     500,
		},
		{
			name:     "and whose retry costs one",
			tokens:   500,
			outcomes: []*Failure{&throttled, &overloaded, nil},
			last:     "",
			want:     500 - 10 + 11,
		},
		{
			name:     "a retry that is not sent at once is paid for once",
			tokens:   500,
			outcomes: []*Failure{&overloaded, &throttled, &throttled, nil},
			last:     "",
			want:     500 - 10 + 11,
		},
		{
			name:     "also if it fails otherwise",
			tokens:   500,
			outcomes: []*Failure{&overloaded, &throttled, &other},
			last:     NotRetryable,
			want:     500,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, tt.run)
	}
}

// TestThrottledCommandsMintNoTokens: commands that are sent at the second attempt, because the first was held back, return a tenth of
// a token each.
func TestThrottledCommandsMintNoTokens(t *testing.T) {
	const commands = 100
	policy := newPolicy(true, true)
	policy.Bucket = holding(0)
	for i := 0; i < commands; i++ {
		execution := policy.Start(Read, Once)
		execution.Failed(throttled)
		execution.Succeeded()
	}
	if got := policy.Bucket.Tokens(); got != commands/10 {
		t.Errorf("the bucket holds %v tokens, want %v", got, commands/10)
	}
}

// TestExecutionTokensOfClasses: what is sheddable leaves half of the tokens to the others, which know nothing of that.
func TestExecutionTokensOfClasses(t *testing.T) {
	const cost, half, full = 10, 5_000, 10_000 // in tenths
	for _, tt := range []struct {
		class  Criticality
		tokens int64
		want   Reason
	}{
		{class: Sheddable, tokens: full, want: Overloaded},
		{class: Sheddable, tokens: half + 1, want: Overloaded},
		{class: Sheddable, tokens: half, want: BucketEmpty},
		{class: Sheddable, tokens: cost, want: BucketEmpty},
		{class: Normal, tokens: half, want: Overloaded},
		{class: Normal, tokens: cost, want: Overloaded},
		{class: Normal, tokens: cost - 1, want: BucketEmpty},
		{class: Critical, tokens: cost, want: Overloaded},
		{class: Critical, tokens: cost - 1, want: BucketEmpty},
	} {
		paid := int64(0)
		if tt.want == Overloaded {
			paid = cost
		}
		failed := overloaded
		failed.Class = tt.class
		tokenTest{tokens: tt.tokens, outcomes: []*Failure{&failed}, last: tt.want, want: tt.tokens - paid}.run(t)
	}
}
