//fork:base <v2.9.0

package operation

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
)

// EndSessions knows that an overloaded server rejected a batch.
//
//fork:extend all batches of a client together have the retries of one command
type EndSessions struct {
	batches backpressure.UntilRejected
}

// Execute sends a batch, unless an earlier one was rejected.
//
//fork:wrap all batches of a client together have the retries of one command
func (es *EndSessions) Execute(ctx context.Context) error {
	return es.batches.Send(ctx, es.upstreamExecute)
}
