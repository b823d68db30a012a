package driver

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/driverutil"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mnet"
)

// Operation knows the end of its client while it runs.
//
//fork:extend an operation is counted, and woken, when the client is disconnected
type Operation struct {
	closing *backpressure.Closing
}

var _ admission = (*operationRun)(nil) // or operationRun.plug would silently use admitted

// enters implements the admission interface.
func (ex *operationRun) enters() bool {
	ex.op.closing = ex.policy.Closing()
	return ex.op.closing.Enter(ex.op.endsSomething())
}

// leaves implements the admission interface.
func (ex *operationRun) leaves() { ex.op.closing.Leave() }

// getServerAndConnection selects a server and gets a connection to it. A client that is being disconnected wakes whoever waits for a
// connection twice before its pools are closed, see Topology.Drain. What ends something then waits again.
//
//fork:wrap whoever is woken when the client is disconnected waits again if it ends something
func (op Operation) getServerAndConnection(
	ctx context.Context, requestID int32, deprioritized []description.Server,
) (Server, *mnet.Connection, error) {
	const maxWakings = 2
	ends := op.endsSomething()
	if op.closing.Over() && !ends {
		return nil, nil, backpressure.ErrDisconnected // nobody would wake it from the queue before its pool is closed
	}
	server, conn, err := op.upstreamGetServerAndConnection(ctx, requestID, deprioritized)
	for woken := 0; woken < maxWakings && op.closing.Begun() && isDisconnected(err) && ends; woken++ {
		server, conn, err = op.upstreamGetServerAndConnection(ctx, requestID, deprioritized)
	}
	return server, conn, err
}

// endsSomething reports whether the operation only ends what the server still has of the client: a cursor, a transaction, sessions. It
// may begin while the client is being disconnected.
func (op Operation) endsSomething() bool {
	return op.Legacy == LegacyKillCursors || op.Name == driverutil.EndSessionsOp || op.commits() || op.aborts()
}
