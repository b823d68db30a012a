package driver

import (
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mnet"
)

// operationRun is one call of Operation.Execute.
type operationRun struct {
	op      Operation // a copy: its name and write concern change with the attempts
	policy  *backpressure.Policy
	purpose backpressure.Purpose // for whom the commands are sent; what is called meanwhile has none
	limit   retry.Limit          // by the Retryable Reads and Writes specifications, for each command

	watcher watcher
	gate    gate
	trips   roundTrips
	client  client

	link link // the connection, until it is returned
	retrySupported,
	begun bool // the first server has been found and retrySupported determined

	cmd       command
	last      attempt       // the present one, or the last
	backedOff time.Duration // before retries, in all
	currIndex int           // of the batch's first document
	results   batchResults  // nil without op.Batches
}

// command is the command that is being executed, by any number of attempts.
type command struct {
	execution     retry.Execution
	deprioritized []description.Server
	errs          attemptErrors
	startsTxn     bool // it is the first of a transaction
	documents     int  // of op.Batches in it, once it has been built

	reauthentications int
}

// link is a connection and its server.
type link struct {
	server Server
	conn   *mnet.Connection
}

// retryEnabled reports whether the caller asked for retries by the Retryable Reads and Retryable Writes specifications.
func (op Operation) retryEnabled() bool {
	return op.RetryMode != nil && op.RetryMode.Enabled()
}

// carrier returns what may carry the overload policy of a deployment or server: that of a cursor is the server that it was opened on.
func carrier(of any) any {
	switch of := of.(type) {
	case SingleServerDeployment:
		return of.Server
	case *loadBalancedCursorDeployment:
		return of.errorProcessor
	default:
		return of
	}
}

// isDisconnected reports whether an attempt or a wait ended because the client was disconnected.
func isDisconnected(err error) bool { return errors.Is(err, backpressure.ErrDisconnected) }
