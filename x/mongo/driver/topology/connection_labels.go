//fork:base <v2.7.0

package topology

import (
	"errors"
	"io"
	"net"
)

// ofPool describes an error of establishing a connection for the pool of a server, and adds the labels of a retryable overload error to
// one that an overloaded server may have caused (connection-monitoring-and-pooling.md, "Backpressure-enabled"), before authentication.
func (c *connection) ofPool(connErr ConnectionError) ConnectionError {
	if c.pool.handshakeErrFn != nil { // the pool of a Server: others are in tests only
		connErr.server = c.addr
	}
	helloDone := c.desc.Addr != "" // connect takes it from the reply to the hello
	connErr.overloaded = !helloDone && mayBeOverload(connErr)
	return connErr
}

// mayBeOverload reports whether an error that occurred while a connection was established is an I/O error or a timeout that
// an overloaded server may have caused.
func mayBeOverload(connErr ConnectionError) bool {
	var netErr net.Error
	err := connErr.Wrapped
	return !cannotBeOverload(connErr) && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &netErr))
}
