package topology

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/ocsp"
)

// cause is what caused an error of dialling, of the TLS handshake or of hello, as far as the error tells. A limit of the client itself is
// a sentence for people.
type cause string

const (
	// perhapsOverload is any cause of which the driver cannot tell that it is no overload of the server.
	perhapsOverload cause = ""

	// noOverload is one that no overloaded server has. The pool is cleared and the server marked unknown
	// (server-discovery-and-monitoring.md, "MongoDB Handshake errors").
	noOverload cause = "no overload"

	outOfFiles  cause = "this client has reached its own limit of open files (see ulimit -n)"
	outOfPorts  cause = "this client has no local address or port left for the connection (see ephemeral ports)"
	outOfMemory cause = "this client's system has no memory left for another socket"
	notAllowed  cause = "this client is not permitted to open the connection (see firewalls and security policies)"
)

// own reports whether the cause is a limit of the client itself. It says nothing of the server, nor of the connections that there are.
func (c cause) own() bool { return c != perhapsOverload && c != noOverload }

// localError is the error of a system call, and its cause.
type localError struct {
	err   error
	cause cause
}

// causeOf returns the cause of an error that occurred while a connection was established. A broken set-up must not look like overload,
// because then no pool is cleared, no server is marked unknown, and commands are retried in vain.
func causeOf(err error) cause {
	for _, local := range localErrors() {
		if errors.Is(err, local.err) || failsLookup(err, local.err) {
			return local.cause
		}
	}
	if cannotBeOverload(err) {
		return noOverload
	}
	return perhapsOverload
}

// failsLookup reports whether a name could not be looked up because of the error of a system call. Package net keeps only its text.
func failsLookup(err, sysErr error) bool {
	var dnsErr *net.DNSError
	return errors.As(err, &dnsErr) && strings.HasSuffix(dnsErr.Err, sysErr.Error())
}

// cannotBeOverload reports whether no overloaded server can cause the error (connection-monitoring-and-pooling.md,
// "Backpressure-enabled"): a failed lookup, a malformed address, TLS that is refused or misconfigured, a proxy that does not connect, a
// refused or malformed hello, a cancelled context.
func cannotBeOverload(err error) bool {
	var (
		dnsErr    *net.DNSError
		addrErr   *net.AddrError
		parseErr  *net.ParseError
		network   net.UnknownNetworkError
		address   net.InvalidAddrError
		urlErr    *url.Error
		ocspErr   *ocsp.Error
		malformed malformedHelloError
		opErr     *net.OpError
		helloErr  driver.Error
	)
	switch {
	case errors.Is(err, context.Canceled), isTLS(err),
		errors.As(err, &dnsErr), errors.As(err, &addrErr), errors.As(err, &parseErr), errors.As(err, &network), errors.As(err, &address),
		errors.As(err, &urlErr) && urlErr.Op == "parse",
		errors.As(err, &ocspErr), errors.As(err, &malformed):
		return true
	case errors.As(err, &opErr):
		return isProxy(opErr)
	default:
		return errors.As(err, &helloErr) && !helloErr.HasErrorLabel(driver.NetworkError)
	}
}

// isTLS reports whether crypto/tls or crypto/x509 itself made the error, such as an alert, a certificate that is not trusted, or a
// configuration that cannot be used. What all of them have in common, in all releases of Go, is how their texts begin. An I/O error that ends
// the TLS handshake is not among them.
func isTLS(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if text := err.Error(); strings.HasPrefix(text, "tls: ") || strings.HasPrefix(text, "x509: ") {
			return true
		}
	}
	return false
}

// isProxy reports whether the error comes from connecting to or through a proxy, as reported by golang.org/x/net/proxy (SOCKS) and
// net/http (CONNECT), with which applications dial, or whose habits their dialers follow.
func isProxy(err *net.OpError) bool {
	return strings.HasPrefix(err.Op, "socks") || err.Op == "proxyconnect"
}
