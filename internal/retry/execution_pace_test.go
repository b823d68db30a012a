package retry

import (
	"testing"
	"time"
)

func pause(d time.Duration) Verdict {
	return Verdict{Retry: true, Backoff: d, Reason: RetryableReadWrite}
}

// Under a timeout the older specifications retry without end. Where each retry would open a connection, there are pauses.
func TestExecutionPace(t *testing.T) {
	both := newPolicy(true, true)
	twice := &Policy{RetryReads: true, RetryWrites: true, MaxRetries: 2, FirstBackoff: 2 * BaseBackoff, Jitter: fixedJitter}
	none := &Policy{RetryReads: true, RetryWrites: true, MaxRetries: Never, FirstBackoff: 2 * BaseBackoff, Jitter: fixedJitter}
	for _, tt := range []verdictTest{
		{name: "without a connection not without end until a timeout, nor without a pause", policy: twice, kind: Read,
			limit: Unlimited, steps: []step{
				{readWrite, again},
				{unestablished, pause(200 * time.Millisecond)},
				{unestablished, pause(400 * time.Millisecond)},
				{unestablished, refused(LimitReached)},
			}},
		{name: "other failures are retried until the timeout all the same", policy: twice, kind: Read, limit: Unlimited,
			steps: []step{
				{unestablished, pause(100 * time.Millisecond)},
				{readWrite, again},
				{readWrite, again},
				{readWrite, again},
			}},
		{name: "no backoff without a timeout, as that is for overload errors", policy: both, kind: Read, limit: Once,
			steps: []step{{overloaded, backoff(50)}, {unestablished, again}}},
		{name: "no backoff beyond the deadline", policy: both, kind: Read, limit: Unlimited,
			steps: []step{{within(unestablished, 49*time.Millisecond), refused(DeadlineTooClose)}}},
		{name: "the end of a transaction is retried once at once, and until a timeout only with pauses", policy: twice,
			kind: TransactionEnd, limit: Unlimited, steps: []step{
				{readWrite, again},
				{readWrite, pause(2500 * time.Microsecond)},
				{readWrite, pause(3750 * time.Microsecond)},
				{within(readWrite, 5*time.Millisecond), pause(2500 * time.Microsecond)},
				{within(readWrite, 0), refused(DeadlineTooClose)},
			}},
		{name: "without a timeout, once an overload error was seen, at once", policy: both, kind: TransactionEnd, limit: Once,
			steps: []step{{overloaded, backoff(50)}, {readWrite, again}, {readWrite, again}}},
		{name: "that of an exempt one without pauses", policy: nil, kind: TransactionEnd, limit: Unlimited,
			steps: []step{{readWrite, again}, {readWrite, again}, {readWrite, again}}},
		{name: "one retry remains where overload errors are not retried", policy: none, kind: Read, limit: Once,
			steps: []step{{unestablished, again}, {unestablished, refused(LimitReached)}}},
		{name: "under a timeout, too", policy: none, kind: Read, limit: Unlimited,
			steps: []step{{unestablished, pause(100 * time.Millisecond)}, {unestablished, refused(LimitReached)}}},
	} {
		t.Run(tt.name, tt.run)
	}
}
