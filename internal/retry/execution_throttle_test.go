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

func heldBack(ms int) Verdict {
	return Verdict{Retry: true, Backoff: time.Duration(ms) * time.Millisecond, Reason: Throttled}
}

func newPolicyOf(retries Limit) *Policy {
	policy := newPolicy(true, true)
	policy.MaxRetries = retries
	return policy
}

func TestExecutionThrottled(t *testing.T) {
	both := newPolicy(true, true)
	tests := []verdictTest{
		{name: "an attempt that was not sent backs off like one that was rejected", policy: both, kind: Write, limit: Once,
			steps: []step{{throttled, heldBack(50)}, {overloaded, backoff(100)}, {throttled, heldBack(200)},
				{throttled, heldBack(400)}, {throttled, heldBack(800)}, {throttled, refused(LimitReached)}}},
		{name: "the reason against its retry is the true one", policy: newPolicy(false, false), kind: Write, limit: Once,
			steps: []step{{throttled, refused(OptionOff)}}},
		{name: "also if it is the deadline", policy: both, kind: Write, limit: Once,
			steps: []step{{within(throttled, 49*time.Millisecond), refused(DeadlineTooClose)}}},
		{name: "there has to be time for the reply, too", policy: both, kind: Write, limit: Once,
			steps: []step{{replying(overloaded, 149*time.Millisecond, 100*time.Millisecond), refused(DeadlineTooClose)}}},
		{name: "there is", policy: both, kind: Write, limit: Once,
			steps: []step{{replying(overloaded, 150*time.Millisecond, 100*time.Millisecond), backoff(50)}}},
		{name: "it is not retried in an overload that lasts", policy: both, kind: Write, limit: Once,
			steps: []step{{overloaded, backoff(50)}, {lasting, refused(Throttled)}}},
		{name: "nor in time", policy: both, kind: Write, limit: Once,
			steps: []step{{within(lasting, 50*time.Millisecond), refused(Throttled)}}},
		{name: "unless the deadline is the reason", policy: both, kind: Write, limit: Once,
			steps: []step{{within(lasting, 49*time.Millisecond), refused(DeadlineTooClose)}}},
		{name: "or the limit", policy: newPolicyOf(Never), kind: Write, limit: Once,
			steps: []step{{within(lasting, 49*time.Millisecond), refused(LimitReached)}}},
		{name: "or the option", policy: newPolicy(false, false), kind: Write, limit: Once,
			steps: []step{{lasting, refused(OptionOff)}}},
		{name: "or it is spared", policy: both, kind: Write, limit: Once,
			steps: []step{{Failure{Cause: HeldBack, Left: NoDeadline, Lasts: true, Spared: true}, heldBack(50)}}},
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
		{spared, heldBack(50)}, {overloaded, backoff(100)}, {spared, heldBack(100)}, {spared, heldBack(200)},
		{spared, heldBack(400)}, {spared, heldBack(800)}, {spared, heldBack(200)}, {spared, refused(LimitReached)},
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
		{name: "and what is sent after it is the first attempt", tokens: 500, outcomes: []*Failure{&throttled, &throttled, nil},
			last: "", want: 501},
		{name: "which returns nothing if it fails otherwise", tokens: 500, outcomes: []*Failure{&throttled, &other},
			last: NotRetryable, want: 500},
		{name: "and whose retry costs one", tokens: 500, outcomes: []*Failure{&throttled, &overloaded, nil}, last: "",
			want: 500 - 10 + 11},
		{name: "a retry that is not sent at once is paid for once", tokens: 500,
			outcomes: []*Failure{&overloaded, &throttled, &throttled, nil}, last: "", want: 500 - 10 + 11},
		{name: "also if it fails otherwise", tokens: 500, outcomes: []*Failure{&overloaded, &throttled, &other},
			last: NotRetryable, want: 500},
	}
	for _, tt := range tests {
		t.Run(tt.name, tt.run)
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
