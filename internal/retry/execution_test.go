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

func backoff(ms int) Verdict {
	return Verdict{Retry: true, Backoff: time.Duration(ms) * time.Millisecond, Reason: Overloaded}
}

// waits is a retry of one of the older specifications, after a backoff.
func waits(ms int) Verdict {
	return Verdict{Retry: true, Backoff: time.Duration(ms) * time.Millisecond, Reason: RetryableReadWrite}
}

func refused(r Reason) Verdict { return Verdict{Reason: r} }

var again = Verdict{Retry: true, Reason: RetryableReadWrite}

// verdictTest is a command that fails again and again.
type verdictTest struct {
	name   string
	policy *Policy
	kind   Kind
	limit  Limit
	steps  []step
}

func (tt verdictTest) run(t *testing.T) {
	execution := tt.policy.Start(tt.kind, tt.limit)
	for i, s := range tt.steps {
		if diff := cmp.Diff(s.want, execution.Failed(s.fails)); diff != "" {
			t.Fatalf("attempt %d: verdict (-want +got):\n%s", i+1, diff)
		}
	}
}

func TestExecutionFailed(t *testing.T) {
	both := newPolicy(true, true)
	// The revision of 2026-08-13 has these.
	twice := &Policy{RetryReads: true, RetryWrites: true, MaxRetries: 2, FirstBackoff: 2 * BaseBackoff, Jitter: fixedJitter}
	none := &Policy{RetryReads: true, RetryWrites: true, MaxRetries: Never, FirstBackoff: 2 * BaseBackoff, Jitter: fixedJitter}
	serverWants := overloaded
	serverWants.FirstBackoff = 30 * time.Millisecond

	tests := []verdictTest{
		{name: "overload is retried five times with doubling backoff", policy: both, kind: Write, limit: Once, steps: []step{
			{overloaded, backoff(50)}, {overloaded, backoff(100)}, {overloaded, backoff(200)}, {overloaded, backoff(400)},
			{overloaded, backoff(800)}, {overloaded, refused(LimitReached)},
		}},
		{name: "commands that no other policy retries are retried", policy: both, kind: Generic, limit: Never,
			steps: []step{{overloaded, backoff(50)}, {other, refused(NotRetryable)}}},
		{name: "without overload the old limit holds", policy: both, kind: Read, limit: Once,
			steps: []step{{readWrite, again}, {readWrite, refused(LimitReached)}}},
		{name: "under a timeout the old limit is none", policy: both, kind: Read, limit: Unlimited, steps: []step{
			{readWrite, again}, {readWrite, again}, {readWrite, again}, {readWrite, again},
			{readWrite, again}, {readWrite, again}, {readWrite, again}, {readWrite, again},
		}},
		{name: "after an overload error the limit is five for every policy", policy: both, kind: Read, limit: Once, steps: []step{
			{overloaded, backoff(50)},
			{readWrite, again}, {readWrite, again}, {readWrite, again}, {readWrite, again}, {readWrite, refused(LimitReached)},
		}},
		{name: "also under a timeout", policy: both, kind: Read, limit: Unlimited, steps: []step{
			{readWrite, again}, {readWrite, again}, {overloaded, backoff(200)},
			{readWrite, again}, {readWrite, again}, {readWrite, refused(LimitReached)},
		}},
		{name: "retries before the overload count against the limit of five", policy: both, kind: Read, limit: Unlimited,
			steps: []step{
				{readWrite, again}, {readWrite, again}, {readWrite, again},
				{readWrite, again}, {readWrite, again}, {readWrite, again},
				{overloaded, refused(LimitReached)},
			}},
		{name: "the exponent counts all attempts", policy: both, kind: Write, limit: Once,
			steps: []step{{readWrite, again}, {overloaded, backoff(100)}, {readWrite, again}, {overloaded, backoff(400)}}},
		{name: "an overload error that is retryable otherwise backs off", policy: both, kind: Read, limit: Once,
			steps: []step{{overloadedBoth, backoff(50)}, {overloadedBoth, backoff(100)}}},
		{name: "the limit and the first backoff are the policy's", policy: twice, kind: Write, limit: Once,
			steps: []step{{overloaded, backoff(100)}, {overloaded, backoff(200)}, {overloaded, refused(LimitReached)}}},
		{name: "a limit of none is none", policy: none, kind: Write, limit: Once,
			steps: []step{{overloaded, refused(LimitReached)}}},
		{name: "and holds for every policy, once an overload error was seen", policy: none, kind: Read, limit: Unlimited,
			steps: []step{{readWrite, again}, {readWrite, again}, {overloadedBoth, refused(LimitReached)}}},
		{name: "a first backoff of the server's takes the place of the policy's", policy: both, kind: Write, limit: Once,
			steps: []step{{serverWants, backoff(15)}, {serverWants, backoff(30)}, {overloaded, backoff(200)}}},
		{name: "what is left is enough for a backoff of nothing", policy: &Policy{RetryReads: true, RetryWrites: true, MaxRetries: 5,
			FirstBackoff: BaseBackoff, Jitter: func() float64 { return 0 }}, kind: Write, limit: Once,
			steps: []step{{within(overloaded, 1), backoff(0)}, {within(overloaded, 0), refused(DeadlineTooClose)}}},
		{name: "SystemOverloadedError alone is not retried", policy: both, kind: Write, limit: Once,
			steps: []step{{overloadedOnly, refused(LabelMissing)}}},
		{name: "an error that retryReads would retry says so", policy: &Policy{RetryWrites: true, Jitter: fixedJitter}, kind: Read,
			limit: Never, steps: []step{{readWriteOff, refused(OptionOff)}}},
		{name: "but not if the option is on", policy: both, kind: Read, limit: Never,
			steps: []step{{readWriteOff, refused(NotRetryable)}}},
		{name: "nor if the command is exempt", policy: nil, kind: Read, limit: Never,
			steps: []step{{readWriteOff, refused(NotRetryable)}}},
		{name: "reads need retryReads", policy: newPolicy(false, true), kind: Read, limit: Never,
			steps: []step{{overloaded, refused(OptionOff)}}},
		{name: "reads do not need retryWrites", policy: newPolicy(true, false), kind: Read, limit: Never,
			steps: []step{{overloaded, backoff(50)}}},
		{name: "writes need retryWrites", policy: newPolicy(true, false), kind: Write, limit: Never,
			steps: []step{{overloaded, refused(OptionOff)}}},
		{name: "writes do not need retryReads", policy: newPolicy(false, true), kind: Write, limit: Never,
			steps: []step{{overloaded, backoff(50)}}},
		{name: "runCommand needs retryReads", policy: newPolicy(false, true), kind: Generic, limit: Never,
			steps: []step{{overloaded, refused(OptionOff)}}},
		{name: "runCommand needs retryWrites", policy: newPolicy(true, false), kind: Generic, limit: Never,
			steps: []step{{overloaded, refused(OptionOff)}}},
		{name: "the end of a transaction needs no option", policy: newPolicy(false, false), kind: TransactionEnd, limit: Once,
			steps: []step{{overloaded, backoff(50)}, {readWrite, again}}},
		{name: "a backoff that passes the deadline is refused", policy: both, kind: Write, limit: Once, steps: []step{
			{within(overloaded, 50*time.Millisecond), backoff(50)},
			{within(overloaded, 99*time.Millisecond), refused(DeadlineTooClose)},
		}},
		{name: "a retry without backoff does not mind the deadline", policy: both, kind: Write, limit: Once,
			steps: []step{{within(readWrite, 0), again}}},
		{name: "no retry after the context ended the attempt", policy: both, kind: Read, limit: Once,
			steps: []step{{ended(readWrite), refused(DeadlineTooClose)}}},
		{name: "which says nothing of what is not retried anyway", policy: both, kind: Read, limit: Once,
			steps: []step{{ended(other), refused(NotRetryable)}}},
		{name: "or has been retried as often as it may", policy: both, kind: Read, limit: Once,
			steps: []step{{readWrite, again}, {ended(readWrite), refused(LimitReached)}}},
		{name: "what was executed is not decided about", policy: both, kind: Write, limit: Once,
			steps: []step{{overloaded, backoff(50)}, {Failure{Cause: Executed, TimeUp: true}, Verdict{}}}},
		{name: "nothing is retried that nobody waits for", policy: both, kind: Write, limit: Once, steps: []step{
			{overloaded, backoff(50)},
			{within(overloaded, 0), refused(DeadlineTooClose)},
			{ended(overloaded), refused(DeadlineTooClose)},
		}},
		{name: "without a connection once, and at once, also under a timeout", policy: both, kind: Read, limit: Unlimited,
			steps: []step{
				{readWrite, again}, {unestablished, again}, {readWrite, again}, {unestablished, refused(LimitReached)},
			}},
		{name: "a client at its own limit waits, also under a timeout", policy: both, kind: Read, limit: Unlimited, steps: []step{
			{ownLimit, waits(50)}, {ownLimit, waits(100)}, {within(ownLimit, time.Millisecond), refused(DeadlineTooClose)},
		}},
		{name: "or tries once again where no policy can tell it to wait", policy: nil, kind: Read, limit: Unlimited,
			steps: []step{{ownLimit, again}, {ownLimit, refused(LimitReached)}}},
		{name: "nor what only cleans up", policy: both, kind: CleanUp, limit: Never,
			steps: []step{{overloaded, refused(NotRetryable)}}},
		{name: "an exempt command knows no overload", policy: nil, kind: Generic, limit: Never,
			steps: []step{{overloaded, refused(NotRetryable)}}},
		{name: "an exempt command keeps the old rules", policy: nil, kind: Read, limit: Once,
			steps: []step{{overloadedBoth, again}, {readWrite, refused(LimitReached)}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, tt.run)
	}
}
