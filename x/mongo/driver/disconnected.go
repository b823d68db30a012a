package driver

import (
	"errors"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/driverutil"
)

// isDisconnected reports whether an attempt or a wait ended because the client was disconnected.
func isDisconnected(err error) bool { return errors.Is(err, backpressure.ErrDisconnected) }

// endsSomething reports whether the operation only ends what the server still has of the client: a cursor, a transaction, sessions. It
// may begin while the client is being disconnected.
func (op Operation) endsSomething() bool {
	return op.Legacy == LegacyKillCursors || op.Name == driverutil.EndSessionsOp || op.commits() || op.aborts()
}
