package retry

import (
	"testing"
	"time"
)

// Under a timeout the older specifications retry without end. Where each retry would open a connection, there are pauses.
func TestExecutionPace(t *testing.T) {
	both := newPolicy(true, true)
	twice := &Policy{RetryReads: true, RetryWrites: true, MaxRetries: 2, FirstBackoff: 2 * BaseBackoff, Jitter: fixedJitter}
	none := &Policy{RetryReads: true, RetryWrites: true, MaxRetries: Never, FirstBackoff: 2 * BaseBackoff, Jitter: fixedJitter}
	for _, tt := range []verdictTest{
		{name: "without a connection not without end until a timeout, nor without a pause", policy: twice, kind: Read, limit: Unlimited,
			steps: []step{
				{fails: readWrite, want: again},
				{fails: unestablished, want: Verdict{Retry: true, Backoff: 200 * time.Millisecond,
					Reason: RetryableReadWrite}},
				{fails: unestablished, want: Verdict{Retry: true, Backoff: 400 * time.Millisecond,
					Reason: RetryableReadWrite}},
				{fails: unestablished, want: refused(LimitReached)},
			}},
		{name: "other failures are retried until the timeout all the same", policy: twice, kind: Read, limit: Unlimited,
			steps: []step{
				{fails: unestablished, want: Verdict{Retry: true, Backoff: 100 * time.Millisecond,
					Reason: RetryableReadWrite}},
				{fails: readWrite, want: again},
				{fails: readWrite, want: again},
				{fails: readWrite, want: again},
			}},
		{name: "no backoff without a timeout, as that is for overload errors", policy: both, kind: Read, limit: Once, steps: []step{
			{fails: overloaded, want: backoff(50)},
			{fails: unestablished, want: again},
		}},
		{name: "no backoff beyond the deadline", policy: both, kind: Read, limit: Unlimited, steps: []step{
			{fails: within(unestablished, 49*time.Millisecond), want: refused(DeadlineTooClose)},
		}},
		{name: "the end of a transaction is retried once at once, and until a timeout only with pauses", policy: twice,
			kind: TransactionEnd, limit: Unlimited, steps: []step{
				{fails: readWrite, want: again},
				{fails: readWrite, want: Verdict{Retry: true, Backoff: 2500 * time.Microsecond, Reason: RetryableReadWrite}},
				{fails: readWrite, want: Verdict{Retry: true, Backoff: 3750 * time.Microsecond, Reason: RetryableReadWrite}},
				{fails: within(readWrite, 5*time.Millisecond), want: Verdict{Retry: true, Backoff: 2500 * time.Microsecond,
					Reason: RetryableReadWrite}},
				{fails: within(readWrite, 0), want: refused(DeadlineTooClose)},
			}},
		{name: "without a timeout, once an overload error was seen, at once", policy: both, kind: TransactionEnd, limit: Once,
			steps: []step{
				{fails: overloaded, want: backoff(50)},
				{fails: readWrite, want: again},
				{fails: readWrite, want: again},
			}},
		{name: "that of an exempt one without pauses", policy: nil, kind: TransactionEnd, limit: Unlimited, steps: []step{
			{fails: readWrite, want: again}, {fails: readWrite, want: again}, {fails: readWrite, want: again},
		}},
		{name: "one retry remains where overload errors are not retried", policy: none, kind: Read, limit: Once, steps: []step{
			{fails: unestablished, want: again},
			{fails: unestablished, want: refused(LimitReached)},
		}},
		{name: "under a timeout, too", policy: none, kind: Read, limit: Unlimited, steps: []step{
			{fails: unestablished, want: Verdict{Retry: true, Backoff: 100 * time.Millisecond, Reason: RetryableReadWrite}},
			{fails: unestablished, want: refused(LimitReached)},
		}},
	} {
		t.Run(tt.name, tt.run)
	}
}
