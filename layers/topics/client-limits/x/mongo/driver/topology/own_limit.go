package topology

import (
	"context"
	"errors"
	"net"
	"strings"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
)

// cause is why the client's own machine could not open a connection. A limit of the client itself is a sentence for people.
type cause string

const (
	// notLocal is any other cause.
	notLocal cause = ""

	// noOverload is one that no overloaded server has. The pool is cleared and the server marked unknown
	// (server-discovery-and-monitoring.md, "MongoDB Handshake errors").
	noOverload cause = "no overload"

	outOfFiles  cause = "this client has reached its own limit of open files (see ulimit -n)"
	outOfPorts  cause = "this client has no local address or port left for the connection (see ephemeral ports)"
	outOfMemory cause = "this client's system has no memory left for another socket"
	notAllowed  cause = "this client is not permitted to open the connection (see firewalls and security policies)"
)

// own reports whether the cause is a limit of the client itself. It says nothing of the server, nor of the connections that there are.
func (c cause) own() bool { return c != notLocal && c != noOverload }

// localError is the error of a system call, and its cause.
type localError struct {
	err   error
	cause cause
}

// causeOf returns the cause of an error that occurred while a connection was established.
func causeOf(err error) cause {
	for _, local := range localErrors() {
		if errors.Is(err, local.err) || failsLookup(err, local.err) {
			return local.cause
		}
	}
	return notLocal
}

// failsLookup reports whether a name could not be looked up because of the error of a system call. Package net keeps only its text.
func failsLookup(err, sysErr error) bool {
	var dnsErr *net.DNSError
	return errors.As(err, &dnsErr) && strings.HasSuffix(dnsErr.Err, sysErr.Error())
}

// ConnectionError knows whether a limit of the client itself caused it.
//
//fork:extend such an error says nothing of the server
type ConnectionError struct {
	limit cause // if that is why there is no connection
}

// isLocal tells cannotBeOverload whether the client's own machine caused the error, not the server.
func (e ConnectionError) isLocal() bool { return causeOf(e.Wrapped) != notLocal }

// Is lets errors.Is find that the connection was not established because of a limit of the client itself.
func (e ConnectionError) Is(target error) bool {
	return target == backpressure.ErrOwnLimit && e.limit.own()
}

// connect returns an error that names a limit of the client itself, if that is why there is no connection. In authentication, it may be why
// there are no credentials; if the client is not permitted to read them, that is no matter of this connection.
//
//fork:wrap a client out of files looked like an overloaded server
func (c *connection) connect(ctx context.Context) error {
	err := c.upstreamConnect(ctx)
	connErr, ok := err.(ConnectionError)
	if !ok {
		return err
	}
	helloDone := c.desc.Addr != "" // what comes after it is authentication
	if limit := causeOf(connErr.Wrapped); limit.own() && (!helloDone || limit != notAllowed) {
		connErr.limit = limit
		connErr.message = strings.TrimPrefix(connErr.message+": "+string(limit), ": ") // for an empty message
	}
	return connErr
}
