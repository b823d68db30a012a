//fork:base >=v2.7.0

package topology

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// connect establishes the connection. The error of a pooled connection that an overloaded server may have caused names the
// server, which a retry then avoids.
//
//fork:wrap a retry has to know which server was overloaded, though it has no connection to it
//fork:watch pool.createConnections Server.setupHeartbeatConnection rttMonitor.runHellos initConnection
func (c *connection) connect(ctx context.Context) error {
	err := c.upstreamConnect(ctx)
	labeled, ok := err.(driver.Error)
	if !ok || c.pool == nil {
		return err
	}
	if connErr, ok := labeled.Wrapped.(ConnectionError); ok {
		connErr.overloaded = c.addr
		labeled.Wrapped = connErr
	}
	return labeled
}

// wrapConnectionError gives the error the labels of a retryable overload error if an overloaded server may have caused it
// (connection-monitoring-and-pooling.md, "Backpressure-enabled").
//
//fork:replace labels I/O errors and timeouts alone, since what is labelled is retried: no refused hello, no proxy that fails
func wrapConnectionError(connErr ConnectionError) error {
	if !mayBeOverload(connErr.Wrapped) {
		return connErr
	}
	return driver.Error{
		Labels:  []string{driver.ErrSystemOverloadedError, driver.ErrRetryableError, driver.NetworkError},
		Wrapped: connErr,
	}
}
