package driver

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// The error of a commit may get a label.
//
//fork:wrap the result of a commit that no server is found for is unknown
func (op Operation) selectServer(
	ctx context.Context,
	requestID int32,
	deprioritized []description.Server,
) (Server, error) {
	waits := ctx.Err() == nil
	server, err := op.upstreamSelectServer(ctx, requestID, deprioritized)
	if waits {
		err = op.labelSelection(err)
	}
	return server, err
}

// labelSelection adds the label UnknownTransactionCommitResult to the error of a commit that waited for a server in vain
// (transactions.md, "UnknownTransactionCommitResult"). Immediate errors, such as those of a disconnected client or an ended context, do not
// get it: a caller that commits until the result is known would not stop.
func (op Operation) labelSelection(err error) error {
	if !op.commits() || !isContextError(err) {
		return err
	}
	return withLabel(err, UnknownTransactionCommitResult)
}
