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
		opts = append(opts[:len(opts):len(opts)], &options.ClientOptions{RetryMonitor: outsideOfSessions(*monitor)}) // in a copy
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
//		text := strings.Replace(err.Error(), " ("+retries.Error()+")", "", 1) // the same for every call
//		slog.Error(text, "attempts", retries.Attempts, "backoff", retries.Backoff, "reason", retries.Reason)
//	}
//
// If there was a backoff, the text of the operation's error ends with the text of the RetryError in parentheses, which differs from call
// to call. CommandError.Message does not contain it.
//
// A CommandError has one if the operation was retried, or if a limit, a deadline, an option, a missing label or an empty token bucket
// prevented the retry. So has an error of establishing a connection. A BulkWriteException or ClientBulkWriteException has one if it holds
// the error of a command that was not executed. A WriteException never has one; event.RetryMonitor reports the same about its operation.
//
// Its fields are Attempts and Retries, how many there were; Backoff, the time spent waiting; Reason, why there was no further retry; with
// adaptiveThrottling also Throttled, how many attempts were withheld, and Criticality. It is a type of package event because errors get it
// below this package.
type RetryError = event.RetryError
