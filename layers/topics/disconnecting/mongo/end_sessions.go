//fork:base >=v2.9.0

package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
)

// endSessionsOp knows that an overloaded server rejected a batch.
//
//fork:extend all batches of a client together have the retries of one command
type endSessionsOp struct {
	rejected error
}

// execute sends a batch, unless an earlier one was rejected in the end: then it returns that error. Sessions that nobody ends expire, so
// an overloaded server need not keep the caller waiting for the backoffs of each batch.
//
//fork:wrap all batches of a client together have the retries of one command
func (es *endSessionsOp) execute(ctx context.Context) error {
	if es.rejected != nil {
		return es.rejected
	}
	err := es.upstreamExecute(ctx)
	if backpressure.IsRetryableOverload(err) {
		es.rejected = err
	}
	return err
}
