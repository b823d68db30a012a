//fork:base <v2.7.0

package topology

import (
	"errors"
	"io"
	"net"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// labelled adds the labels of a retryable overload error to an error that an overloaded server may have caused
// (connection-monitoring-and-pooling.md, "Backpressure-enabled"), one before authentication.
func (c *connection) labelled(connErr ConnectionError) ConnectionError {
	helloDone := c.desc.Addr != ""
	if helloDone || !mayBeOverload(connErr.Wrapped) {
		return connErr
	}
	connErr.overloaded = true
	if helloErr, ok := connErr.Wrapped.(driver.Error); ok {
		// Applications see the labels of the innermost command error.
		n := len(helloErr.Labels)
		helloErr.Labels = append(helloErr.Labels[:n:n], driver.ErrSystemOverloadedError, driver.ErrRetryableError)
		connErr.Wrapped = helloErr
	}
	return connErr
}

// mayBeOverload reports whether an error that occurred while a connection was established is an I/O error or a timeout that
// an overloaded server may have caused.
func mayBeOverload(err error) bool {
	if cannotBeOverload(err) {
		return false
	}
	var netErr net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &netErr)
}
