package mongo

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
)

// ErrClientDisconnected is returned when disconnected Client is used to run an operation. Operations that wait for a server, a
// connection or a backoff when the client is disconnected fail with an error of which errors.Is finds it; if an attempt was made before,
// that is the attempt's.
//
//fork:replace the driver's packages below have to tell why an operation was given up
var ErrClientDisconnected = backpressure.ErrDisconnected

// Operations that wait for a server or a connection fail at once, and no more operations begin, but for those that end a cursor or a
// transaction: they wait until the connections are closed. If the context has a deadline, Disconnect
// waits until the others have ended, with their retries, as it does for the connections that are in use; without one, those in a backoff
// fail, too. It leaves a quarter of that time, but at most 2 seconds, for ending sessions.
//
// If the context has no deadline, the client's Timeout or, without one, 10 seconds, is how long the servers may take to end sessions,
// together with those of the clients that automatic encryption uses.
//
//fork:wrap operations that hold no connection went on, or waited in vain
func (c *Client) Disconnect(ctx context.Context) error {
	if ctx == nil { // which all methods of package mongo permit
		ctx = context.Background()
	}
	_, graceful := ctx.Deadline()
	if _, bounded := ctx.Value(closedBy{}).(time.Time); !graceful && !bounded { // a client for encryption has what its client has left
		ctx = context.WithValue(ctx, closedBy{}, time.Now().Add(timeToClose(c.timeout)))
	}
	c.drain(ctx)
	return c.upstreamDisconnect(ctx)
}

// closedBy is the key of the time by which a client and those that it uses for encryption have to have ended their sessions. It is no
// deadline of the context: with one, pools wait for their connections.
type closedBy struct{}

// drain wakes whoever waits in the client, and then in those that it uses for encryption, which operations of the client need to end.
func (c *Client) drain(ctx context.Context) {
	clients := []*Client{c, c.internalClientFLE, c.keyVaultClientFLE, c.metadataClientFLE}
	if c.mongocryptdFLE != nil {
		clients = append(clients, c.mongocryptdFLE.client)
	}
	for _, client := range clients {
		if client == nil {
			continue
		}
		if topology, ok := client.deployment.(interface{ Drain(context.Context) }); ok { // not that of a test
			topology.Drain(ctx)
		}
	}
}

// timeToClose returns how long closing may take if the context does not say.
func timeToClose(timeout *time.Duration) time.Duration {
	if timeout != nil && *timeout > 0 {
		return *timeout
	}
	return closeTime
}

// endSessions ends the sessions of the client's pool.
//
//fork:wrap the client's Timeout does not apply to it
func (c *Client) endSessions(ctx context.Context) {
	if end, ok := ctx.Value(closedBy{}).(time.Time); ok {
		var cancel context.CancelFunc
		ctx, cancel = backpressure.InOwnTime(ctx, time.Until(end))
		defer cancel()
	}
	c.upstreamEndSessions(ctx)
}
