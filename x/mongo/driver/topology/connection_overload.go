package topology

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// ConnectionError can have the labels of a retryable overload error and of a retryable write, see HasErrorLabel.
//
//fork:extend a server that limits the rate of new connections closes them, and the error has to say so
type ConnectionError struct {
	server     address.Address // to which a pool could not establish the connection
	overloaded bool            // the server may be overloaded

	retryableWrite bool // the connection was for a write that could be retried
}

// The error of a pool's connection names the server, so that a retry can avoid it, and has its labels.
//
//fork:wrap a retry has to know which server was overloaded, though it has no connection to it
func (c *connection) connect(ctx context.Context) error {
	err := c.upstreamConnect(ctx)
	if c.pool != nil { // else it is a monitor's, which has no retries
		err = c.notEstablished(err)
	}
	return err
}

// notEstablished returns the error of a pool's connection with what a retry has to know.
func (c *connection) notEstablished(err error) error {
	switch e := err.(type) {
	case ConnectionError:
		err = c.ofPool(e)
	case driver.Error: // since v2.7.0, in which wrapConnectionError wraps the error to label it
		if connErr, ok := e.Wrapped.(ConnectionError); ok && c.pool.handshakeErrFn != nil {
			connErr.overloaded = e.HasErrorLabel(driver.ErrSystemOverloadedError)
			e.Wrapped = c.ofPool(connErr)
		}
		err = e
	}
	return err
}

// ForWrite returns a copy of the error that has the label.
func (e ConnectionError) ForWrite() error {
	e.retryableWrite = true
	return e
}

// HasErrorLabel reports whether the error, or the one that it wraps, has the label. An I/O error or timeout while a pool establishes a
// connection has NetworkError and, if overload may be the cause, SystemOverloadedError and RetryableError; one of the client's own limits
// has NetworkError alone; a failed handshake command has the labels of its own error. If the connection was for a write,
// RetryableWriteError says that it may be retried.
func (e ConnectionError) HasErrorLabel(label string) bool {
	switch label {
	case driver.RetryableWriteError:
		if e.retryableWrite {
			return true
		}
	case driver.NetworkError:
		if e.overloaded || errors.Is(e, backpressure.ErrOwnLimit) {
			return true
		}
	case driver.ErrSystemOverloadedError, driver.ErrRetryableError:
		if e.overloaded {
			return true
		}
	}
	return backpressure.HasLabelInChain(e.Wrapped, label)
}

// ServerAddress returns the address of the server to which a pool could not establish the connection. It is empty for a
// connection that broke later, and for one of no pool.
func (e ConnectionError) ServerAddress() address.Address { return e.server }
