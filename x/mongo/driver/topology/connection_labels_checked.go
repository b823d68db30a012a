//fork:base >=v2.7.0

package topology

// wrapConnectionError gives the error the labels of a retryable overload error unless an overloaded server cannot have caused
// it (connection-monitoring-and-pooling.md, "Backpressure-enabled").
//
//fork:wrap labelled errors are retried, which must not happen for a refused hello, a proxy that does not connect, or a client out of files
func wrapConnectionError(connErr ConnectionError) error {
	if cannotBeOverload(connErr) {
		return connErr
	}
	return upstreamWrapConnectionError(connErr)
}

// ofPool describes an error of establishing a connection for the pool of a server. wrapConnectionError has labelled it.
func (c *connection) ofPool(connErr ConnectionError) ConnectionError {
	if c.pool.handshakeErrFn != nil { // the pool of a Server: others are in tests only
		connErr.server = c.addr
	}
	return connErr
}
