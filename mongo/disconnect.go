package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
)

// ErrClientDisconnected is returned when disconnected Client is used to run an operation. Operations that wait for a server, a
// connection or a backoff when the client is disconnected fail with an error of which errors.Is finds it; if an attempt was made before,
// that is the attempt's.
//
//fork:replace the driver's packages below have to tell why an operation was given up
var ErrClientDisconnected = backpressure.ErrDisconnected

// Operations that wait for a server or a connection fail at once, and no more operations begin. If the context has a deadline, Disconnect
// waits until those have ended that are in a backoff, as it does for the connections that are in use; without one they fail, too.
//
// If the context has no deadline, the client's Timeout or, without one, 10 seconds, is how long the server may take to end sessions.
//
//fork:wrap operations that hold no connection went on, or waited in vain
func (c *Client) Disconnect(ctx context.Context) error {
	if ctx == nil {
		ctx = context.Background()
	}
	if topology, ok := c.deployment.(interface{ Drain(context.Context) }); ok {
		topology.Drain(ctx)
	}
	return c.upstreamDisconnect(ctx)
}
