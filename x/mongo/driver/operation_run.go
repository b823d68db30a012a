package driver

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// operationRun is one call of Operation.Execute.
type operationRun struct {
	op      Operation // a copy: its name and write concern change with the attempts
	policy  *backpressure.Policy
	purpose backpressure.Purpose // for whom the commands are sent; what is called meanwhile has none
	limit   retry.Limit          // by the Retryable Reads and Writes specifications, for each command

	watcher   watcher
	gate      gate
	trips     roundTrips
	admission admission

	link           link // the connection, until it is returned
	begun          bool // the first server has been found
	retrySupported bool // and supports retries

	cmd       commandRun
	last      attempt       // the present one, or the last
	backedOff time.Duration // before retries, in all
	currIndex int           // of the batch's first document
	results   batchResults  // nil without op.Batches
}

// commandRun is the command that is being executed, by any number of attempts.
type commandRun struct {
	execution     retry.Execution
	deprioritized []description.Server // which the next attempt avoids
	errs          attemptErrors
	startsTxn     bool // it is the first of a transaction
	documents     int  // of op.Batches in it, once it has been built

	reauthentications int // up to maxReauthentications
}

// releaseConnection returns the connection, so that a failed attempt holds none, neither during the backoff nor while the next
// server is selected. An error of closing it concerns no command.
func (ex *operationRun) releaseConnection() {
	if ex.link.conn != nil {
		_ = ex.link.conn.Close()
	}
	ex.link = link{}
}

// plug lets the run's own methods implement watcher, gate, roundTrips and admission, if layers give it such methods.
func (ex *operationRun) plug() {
	ex.watcher = layered[watcher](ex, unwatched{})
	ex.gate = layered[gate](ex, ungated{ex})
	ex.trips = layered[roundTrips](ex, unmeasured{})
	ex.admission = layered[admission](ex, admitted{})
}

// layered returns the run, if a layer gives it the methods of T, or what a run without that layer does.
func layered[T any](ex *operationRun, without T) T {
	if with, ok := any(ex).(T); ok {
		return with
	}
	return without
}

// The retry loop reports its attempts to a run that implements watcher; see retry_record.go.
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

// A run that implements gate withholds attempts which a server would most likely reject; see throttling.go.
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

// A run that implements roundTrips knows how far the server is; see max_time.go.
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

// A run that implements discarder closes a cursor that a reply has opened, and that nobody will know; see cursor_close.go.
type discarder interface {
	discarding(ctx context.Context, info ResponseInfo) ResponseInfo
}

// A run that implements admission is counted by its client as long as it runs. A client that was disconnected refuses it; see
// closing_client.go.
type admission interface {
	enters() bool
	leaves()
}

// admitted is the admission of a run whose client is never disconnected.
type admitted struct{}

func (admitted) enters() bool { return true }
func (admitted) leaves()      {}

// batchResults gathers what the commands of an operation with Batches did.
type batchResults interface {
	// retried takes note of each failed attempt that is to be retried, before the backoff.
	retried(a *attempt)

	// conclude is told how a command ended: err is its error, and executed the attempt that the server executed, if there is one. It
	// returns no error if the operation goes on.
	conclude(ctx context.Context, a, executed *attempt, err error) error

	// written returns the error of an operation whose last command has not failed.
	written() error

	// change gives each error that it holds to a function, and keeps what that returns.
	change(func(error) error)

	// around returns the operation's error, with what the commands did.
	around(err error) error
}

// keepsResults is implemented by a run that tells of each command what it did; see execute_batch.go.
type keepsResults interface{ keptResults() batchResults }
