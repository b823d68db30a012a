package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// newClient makes a client. Its RetryMonitor is given contexts without a session.
//
//fork:wrap a command of the monitor would become part of the transaction that is being retried
func newClient(opts ...*options.ClientOptions) (*Client, error) {
	if monitor := options.MergeClientOptions(opts...).RetryMonitor; monitor != nil {
		opts = append(opts[:len(opts):len(opts)], &options.ClientOptions{RetryMonitor: outsideOfSessions(*monitor)})
	}
	return upstreamNewClient(opts...)
}

// outsideOfSessions returns a monitor that calls the functions of another with contexts that have no session.
func outsideOfSessions(monitor event.RetryMonitor) *event.RetryMonitor {
	if decided := monitor.Decided; decided != nil {
		monitor.Decided = func(ctx context.Context, e *event.RetryDecidedEvent) { decided(NewSessionContext(ctx, nil), e) }
	}
	if finished := monitor.Finished; finished != nil {
		monitor.Finished = func(ctx context.Context, e *event.RetryFinishedEvent) { finished(NewSessionContext(ctx, nil), e) }
	}
	return &monitor
}

// RetryError describes the attempts that an operation made before it failed, and why it made no more. errors.As finds it in the
// operation's error:
//
//	var retries *mongo.RetryError
//	if errors.As(err, &retries) {
//		log.Printf("%v (%d attempts, %v of backoff, %s)", err, retries.Attempts, retries.Backoff, retries.Reason)
//	}
//
// It is in every CommandError, and every error of establishing a connection, of an operation that was retried, or was not because
// of a limit, deadline, option, missing label or empty token bucket; a BulkWriteException or ClientBulkWriteException of which a command
// failed in that way has that command's. A WriteException does not hold one; event.RetryMonitor reports the same about its operation.
//
// It is a type of package event because errors get it below this package.
type RetryError = event.RetryError
