package topology

import (
	"context"
	"errors"
	"net"
	"strings"

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
	if c.pool == nil {
		return c.upstreamConnect(ctx)
	}
	ctx, cancel := c.pool.whileOpen(ctx)
	defer cancel()
	if c.config != nil && c.config.handshaker != nil {
		c.config.handshaker = knownServer{c.config.handshaker}
	}
	err := c.upstreamConnect(ctx)
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

// HasErrorLabel reports whether the error, or the one that it wraps, has the label. An I/O error or timeout while a pool
// establishes a connection has NetworkError and, if overload may be the cause, SystemOverloadedError and RetryableError; a failed
// handshake command has the labels of its own error. If the connection was for a write, RetryableWriteError says that it may be
// retried.
func (e ConnectionError) HasErrorLabel(label string) bool {
	switch label {
	case driver.RetryableWriteError:
		if e.retryableWrite {
			return true
		}
	case driver.NetworkError, driver.ErrSystemOverloadedError, driver.ErrRetryableError:
		if e.overloaded {
			return true
		}
	}
	return backpressure.HasLabelInChain(e.Wrapped, label)
}

// ServerAddress returns the address of the server to which a pool could not establish the connection. It is empty for a
// connection that broke later, and for one of no pool.
func (e ConnectionError) ServerAddress() address.Address { return e.server }

// cannotBeOverload reports whether no overloaded server can cause an error that occurred while a connection was established: a TLS alert, a
// proxy that does not connect, a refused or malformed hello, a cancelled context. A broken set-up must not look like overload, because then
// no pool is cleared, no server is marked unknown, and commands are retried in vain.
func cannotBeOverload(err error) bool {
	var (
		opErr     *net.OpError
		helloErr  driver.Error
		malformed malformedHelloError
	)
	switch {
	case errors.Is(err, context.Canceled), errors.As(err, &malformed):
		return true
	case errors.As(err, &opErr):
		return isTLSAlert(opErr) || isProxy(opErr)
	default:
		return errors.As(err, &helloErr) && !helloErr.HasErrorLabel(driver.NetworkError)
	}
}

// isTLSAlert reports whether one side ended the TLS handshake by an alert. The standard library shows that only by the name of
// the operation.
func isTLSAlert(err *net.OpError) bool {
	return err.Op == "remote error" || err.Op == "local error"
}

// isProxy reports whether the error comes from connecting to or through a SOCKS proxy, as reported by golang.org/x/net/proxy,
// with which applications dial.
func isProxy(err *net.OpError) bool {
	return strings.HasPrefix(err.Op, "socks")
}
