package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// newClient makes a client. Its RetryMonitor is given contexts without a session.
//
//fork:wrap a command of the monitor would become part of the transaction that is being retried
func newClient(opts ...*options.ClientOptions) (*Client, error) {
	client, err := upstreamNewClient(opts...)
	if err != nil {
		return nil, err
	}
	if retrier, ok := client.deployment.(backpressure.PolicyHolder); ok {
		if policy := retrier.OverloadPolicy(); policy != nil && policy.Monitor != nil {
			policy.Monitor = outsideOfSessions(*policy.Monitor)
		}
	}
	return client, nil
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
