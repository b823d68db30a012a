package retry

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fixedJitter makes each backoff half of its longest.
func fixedJitter() float64 { return 0.5 }

// newPolicy returns a policy with the numbers of the specification's revision of 2026-03-12.
func newPolicy(retryReads, retryWrites bool) *Policy {
	return &Policy{
		RetryReads: retryReads, RetryWrites: retryWrites,
		MaxRetries: 5, FirstBackoff: BaseBackoff, Jitter: fixedJitter,
	}
}

// The failures that the tables are made of.
var (
	overloaded     = Failure{Overload: true, Retryable: true, Remaining: NoDeadline}
	overloadedOnly = Failure{Overload: true, Remaining: NoDeadline}
	retryableOnly  = Failure{Retryable: true, Remaining: NoDeadline}
	readWrite      = Failure{ReadWrite: true, Remaining: NoDeadline}
	other          = Failure{Remaining: NoDeadline}
)

func within(f Failure, remaining time.Duration) Failure {
	f.Remaining = remaining
	return f
}

// step is one failed attempt and the verdict that has to follow.
type step struct {
	fails Failure
	want  Verdict
}

func backoff(ms int) Verdict {
	return Verdict{Retry: true, Backoff: time.Duration(ms) * time.Millisecond, Reason: Overloaded}
}

func refused(r Reason) Verdict { return Verdict{Reason: r} }

var again = Verdict{Retry: true, Reason: RetryableReadWrite}

func TestExecutionFailed(t *testing.T) {
	both := newPolicy(true, true)
	// The revision of 2026-08-13 has these.
	twice := &Policy{RetryReads: true, RetryWrites: true, MaxRetries: 2, FirstBackoff: 2 * BaseBackoff, Jitter: fixedJitter}
	none := &Policy{RetryReads: true, RetryWrites: true, MaxRetries: Never, FirstBackoff: 2 * BaseBackoff, Jitter: fixedJitter}
	serverWants := overloaded
	serverWants.FirstBackoff = 30 * time.Millisecond

	tests := []struct {
		name   string
		policy *Policy
		kind   Kind
		limit  Limit
		steps  []step
	}{
		{"overload is retried five times with doubling backoff", both, Write, Once, []step{
			{overloaded, backoff(50)},
			{overloaded, backoff(100)},
			{overloaded, backoff(200)},
			{overloaded, backoff(400)},
			{overloaded, backoff(800)},
			{overloaded, refused(LimitReached)},
		}},
		{"commands that no other policy retries are retried", both, Generic, Never, []step{
			{overloaded, backoff(50)},
			{other, refused(NotRetryable)},
		}},
		{"without overload the old limit holds", both, Read, Once, []step{
			{readWrite, again},
			{readWrite, refused(LimitReached)},
		}},
		{"under a timeout the old limit is none", both, Read, Unlimited, []step{
			{readWrite, again}, {readWrite, again}, {readWrite, again}, {readWrite, again},
			{readWrite, again}, {readWrite, again}, {readWrite, again}, {readWrite, again},
		}},
		{"after an overload error the limit is five for every policy", both, Read, Once, []step{
			{overloaded, backoff(50)},
			{readWrite, again}, {readWrite, again}, {readWrite, again}, {readWrite, again},
			{readWrite, refused(LimitReached)},
		}},
		{"also under a timeout", both, Read, Unlimited, []step{
			{readWrite, again}, {readWrite, again},
			{overloaded, backoff(200)},
			{readWrite, again}, {readWrite, again},
			{readWrite, refused(LimitReached)},
		}},
		{"retries before the overload count against the limit of five", both, Read, Unlimited, []step{
			{readWrite, again}, {readWrite, again}, {readWrite, again},
			{readWrite, again}, {readWrite, again}, {readWrite, again},
			{overloaded, refused(LimitReached)},
		}},
		{"the exponent counts all attempts", both, Write, Once, []step{
			{readWrite, again},
			{overloaded, backoff(100)},
			{readWrite, again},
			{overloaded, backoff(400)},
		}},
		{"an overload error that is retryable otherwise backs off", both, Read, Once, []step{
			{Failure{Overload: true, ReadWrite: true, Remaining: NoDeadline}, backoff(50)},
			{Failure{Overload: true, ReadWrite: true, Remaining: NoDeadline}, backoff(100)},
		}},
		{"the limit and the first backoff are the policy's", twice, Write, Once, []step{
			{overloaded, backoff(100)},
			{overloaded, backoff(200)},
			{overloaded, refused(LimitReached)},
		}},
		{"a limit of none is none", none, Write, Once, []step{
			{overloaded, refused(LimitReached)},
		}},
		{"and holds for every policy, once an overload error was seen", none, Read, Unlimited, []step{
			{readWrite, again}, {readWrite, again},
			{Failure{Overload: true, ReadWrite: true, Remaining: NoDeadline}, refused(LimitReached)},
		}},
		{"a first backoff of the server's takes the place of the policy's", both, Write, Once, []step{
			{serverWants, backoff(15)},
			{serverWants, backoff(30)},
			{overloaded, backoff(200)},
		}},
		{"SystemOverloadedError alone is not retried", both, Write, Once, []step{
			{overloadedOnly, refused(LabelMissing)},
		}},
		{"an error that retryReads would retry says so", &Policy{RetryWrites: true, Jitter: fixedJitter}, Read, Never, []step{
			{Failure{ReadWriteOff: true, Remaining: NoDeadline}, refused(OptionOff)},
		}},
		{"but not if the option is on", both, Read, Never, []step{
			{Failure{ReadWriteOff: true, Remaining: NoDeadline}, refused(NotRetryable)},
		}},
		{"nor if the command is exempt", nil, Read, Never, []step{
			{Failure{ReadWriteOff: true, Remaining: NoDeadline}, refused(NotRetryable)},
		}},
		{"RetryableError alone is not retried", both, Write, Once, []step{
			{retryableOnly, refused(NotRetryable)},
		}},
		{"reads need retryReads", newPolicy(false, true), Read, Never, []step{
			{overloaded, refused(OptionOff)},
		}},
		{"reads do not need retryWrites", newPolicy(true, false), Read, Never, []step{
			{overloaded, backoff(50)},
		}},
		{"writes need retryWrites", newPolicy(true, false), Write, Never, []step{
			{overloaded, refused(OptionOff)},
		}},
		{"writes do not need retryReads", newPolicy(false, true), Write, Never, []step{
			{overloaded, backoff(50)},
		}},
		{"runCommand needs retryReads", newPolicy(false, true), Generic, Never, []step{
			{overloaded, refused(OptionOff)},
		}},
		{"runCommand needs retryWrites", newPolicy(true, false), Generic, Never, []step{
			{overloaded, refused(OptionOff)},
		}},
		{"the end of a transaction needs no option", newPolicy(false, false), TransactionEnd, Once, []step{
			{overloaded, backoff(50)},
			{readWrite, again},
		}},
		{"a backoff that passes the deadline is refused", both, Write, Once, []step{
			{within(overloaded, 50*time.Millisecond), backoff(50)},
			{within(overloaded, 99*time.Millisecond), refused(DeadlineTooClose)},
		}},
		{"a retry without backoff does not mind the deadline", both, Write, Once, []step{
			{within(readWrite, 0), again},
		}},
		{"nothing is retried that nobody waits for", both, Write, Once, []step{
			{overloaded, backoff(50)},
			{Failure{Overload: true, Retryable: true, Remaining: NoDeadline, ContextDone: true}, refused(ContextDone)},
		}},
		{"nor what only cleans up", both, CleanUp, Never, []step{
			{overloaded, refused(NotRetryable)},
		}},
		{"an exempt command knows no overload", nil, Generic, Never, []step{
			{overloaded, refused(NotRetryable)},
		}},
		{"an exempt command keeps the old rules", nil, Read, Once, []step{
			{Failure{Overload: true, Retryable: true, ReadWrite: true, Remaining: NoDeadline}, again},
			{readWrite, refused(LimitReached)},
		}},
	}
	for _, tt := range tests {
		tt := tt
		t.Run(tt.name, func(t *testing.T) {
			execution := tt.policy.Start(tt.kind, tt.limit)
			for i, s := range tt.steps {
				if diff := cmp.Diff(s.want, execution.Failed(s.fails)); diff != "" {
					t.Fatalf("attempt %d: verdict (-want +got):\n%s", i+1, diff)
				}
			}
		})
	}
}

func TestReasonString(t *testing.T) {
	seen := map[string]Reason{}
	for reason := Overloaded; reason <= ContextDone; reason++ {
		text := reason.String()
		if other, ok := seen[text]; ok || text == Reason(0).String() {
			t.Errorf("reason %d has the text %q, as has reason %d", reason, text, other)
		}
		seen[text] = reason
	}
}
