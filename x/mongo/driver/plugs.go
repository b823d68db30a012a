package driver

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/retry"
)

// watcher is what a run is, too, whose attempts somebody is told of; see layers/extras/events. Without it nobody is.
type watcher interface {
	// commandBegins is called before the first attempt of each command, attempted after each attempt, retried before each retry.
	commandBegins()
	attempted(a *attempt)
	retried()
	// decided is called after the decision about a failed attempt, while its connection may be held, and released before a backoff
	// and at the end, when it need not be.
	decided(ctx context.Context, a *attempt, v retry.Verdict)
	released(ctx context.Context)
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
func (unwatched) released(context.Context)                         {}
func (unwatched) backoffEnded(error)                               {}
func (unwatched) finished(_ context.Context, err error) error      { return err }

// gate is what a run is, too, that holds back attempts which a server would reject; see layers/extras/throttling. Without it all are sent.
type gate interface {
	// enter is called before the first attempt.
	enter(ctx context.Context)
	// deployment returns what selects the server of an attempt.
	deployment(ctx context.Context) Deployment
	// holds reports whether a failed attempt was held back, and gives it the error that applications see.
	holds(a *attempt) bool
	// sending returns when an attempt is sent, and sent is called with that at its end.
	sending() time.Time
	sent(a *attempt, began time.Time)
	// reserve returns how many tokens the command leaves to others.
	reserve() float64
	// verdict returns the verdict after an attempt that was held back, given that after a rejection.
	verdict(a *attempt, v retry.Verdict) retry.Verdict
}

// ungated is the gate of a run that holds nothing back.
type ungated struct{ ex *operationRun }

func (u ungated) enter(context.Context)                             {}
func (u ungated) deployment(context.Context) Deployment             { return u.ex.op.Deployment }
func (u ungated) holds(*attempt) bool                               { return false }
func (u ungated) sending() time.Time                                { return time.Time{} }
func (u ungated) sent(*attempt, time.Time)                          {}
func (u ungated) reserve() float64                                  { return 0 }
func (u ungated) verdict(_ *attempt, v retry.Verdict) retry.Verdict { return v }

// plug finds what the run is, too.
func (ex *operationRun) plug() {
	var ok bool
	if ex.watcher, ok = any(ex).(watcher); !ok {
		ex.watcher = unwatched{}
	}
	if ex.gate, ok = any(ex).(gate); !ok {
		ex.gate = ungated{ex}
	}
}
