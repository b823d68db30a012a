package driver

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/retry"
)

// The retry loop reports its attempts to a run that implements watcher; see layers/extras/events.
type watcher interface {
	// commandBegins is called before the first attempt of each command, attempted after each attempt, retried before each retry.
	commandBegins()
	attempted(a *attempt)
	retried()
	// decided is called after the decision about a failed attempt, while its connection may be held.
	decided(ctx context.Context, a *attempt, v retry.Verdict)
	// mayRelease is called before a backoff and after each command. The connection need not be held any longer.
	mayRelease(ctx context.Context)
	// backoffEnded is called with why a backoff ended before its time.
	backoffEnded(err error)
	// finished returns the operation's error.
	finished(ctx context.Context, err error) error
}

type unwatched struct{}

func (unwatched) commandBegins()                                   {}
func (unwatched) attempted(*attempt)                               {}
func (unwatched) retried()                                         {}
func (unwatched) decided(context.Context, *attempt, retry.Verdict) {}
func (unwatched) mayRelease(context.Context)                       {}
func (unwatched) backoffEnded(error)                               {}
func (unwatched) finished(_ context.Context, err error) error      { return err }

// A run that implements gate withholds attempts which a server would most likely reject; see layers/extras/throttling.
type gate interface {
	// enter is called before the first attempt.
	enter(ctx context.Context)
	// deployment returns what selects the server of an attempt.
	deployment(ctx context.Context) Deployment
	// withheld reports whether a failed attempt was withheld. If so, it gives the attempt the error that applications see.
	withheld(a *attempt) bool
	// sending is called before an attempt is sent, and counted after it, with what sending returned.
	sending() time.Time
	counted(a *attempt, began time.Time)
	// reserve returns how many tokens the command leaves to others.
	reserve() float64
	// verdict returns the verdict after an attempt that was withheld, given that after a rejection.
	verdict(a *attempt, v retry.Verdict) retry.Verdict
}

// ungated is the gate of a run that withholds nothing.
type ungated struct{ ex *operationRun }

func (u ungated) enter(context.Context)                             {}
func (u ungated) deployment(context.Context) Deployment             { return u.ex.op.Deployment }
func (u ungated) withheld(*attempt) bool                            { return false }
func (u ungated) sending() time.Time                                { return time.Time{} }
func (u ungated) counted(*attempt, time.Time)                       {}
func (u ungated) reserve() float64                                  { return 0 }
func (u ungated) verdict(_ *attempt, v retry.Verdict) retry.Verdict { return v }

// A run that implements roundTrips knows how far the server is; see layers/topics/timeouts.
type roundTrips interface {
	// measure is called before the first attempt.
	measure(ctx context.Context)
	// shortest returns the shortest round trip to the server of an attempt.
	shortest(a *attempt) time.Duration
}

// unmeasured asks the server when it is used.
type unmeasured struct{}

func (unmeasured) measure(context.Context)           {}
func (unmeasured) shortest(a *attempt) time.Duration { return a.server.RTTMonitor().Min() }

// A run that implements discarder closes a cursor that a reply has opened, and that nobody will know; see layers/topics/iterators.
type discarder interface {
	discarding(ctx context.Context, info ResponseInfo) ResponseInfo
}

// A run that implements client counts itself as long as it runs. A client that was disconnected refuses it; see
// layers/topics/disconnecting.
type client interface {
	enters() bool
	leaves()
}

// connected is a client that is never disconnected.
type connected struct{}

func (connected) enters() bool { return true }
func (connected) leaves()      {}

// plug lets the run's own methods implement these interfaces, if layers give it such methods.
func (ex *operationRun) plug() {
	var ok bool
	if ex.watcher, ok = any(ex).(watcher); !ok {
		ex.watcher = unwatched{}
	}
	if ex.gate, ok = any(ex).(gate); !ok {
		ex.gate = ungated{ex}
	}
	if ex.trips, ok = any(ex).(roundTrips); !ok {
		ex.trips = unmeasured{}
	}
	if ex.client, ok = any(ex).(client); !ok {
		ex.client = connected{}
	}
}
