package driver

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// The error of a commit that waited for a server in vain gets the label UnknownTransactionCommitResult (transactions.md,
// "UnknownTransactionCommitResult"). Immediate errors, such as those of a disconnected client or an ended context, do not get it: a caller
// that commits until the result is known would not stop.
//
//fork:wrap the result of a commit that no server is found for is unknown
func (op Operation) selectServer(
	ctx context.Context,
	requestID int32,
	deprioritized []description.Server,
) (Server, error) {
	waits := ctx.Err() == nil // otherwise the error is immediate
	server, err := op.upstreamSelectServer(ctx, requestID, deprioritized)
	if waits && op.commits() && isContextError(err) {
		err = withLabel(err, UnknownTransactionCommitResult)
	}
	return server, err
}
