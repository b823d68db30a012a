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

// cannotBeOverload reports whether no overloaded server can cause the error (connection-monitoring-and-pooling.md,
// "Backpressure-enabled"): a failed lookup, a malformed address, TLS that is refused or misconfigured, a proxy that does not connect, a
// refused or malformed hello, a cancelled context, an error of the client's own machine. A broken set-up must not look like overload,
// because then no pool is cleared, no server is marked unknown, and commands are retried in vain.
func cannotBeOverload(connErr ConnectionError) bool {
	if local, ok := any(connErr).(interface{ isLocal() bool }); ok && local.isLocal() { // see own_limit.go
		return true
	}
	err := connErr.Wrapped
	var (
		dnsErr   *net.DNSError
		addrErr  *net.AddrError
		parseErr *net.ParseError
		network  net.UnknownNetworkError
		address  net.InvalidAddrError
		urlErr   *url.Error
		ocspErr  *ocsp.Error
		answered interface{ serverAnswered() } // see malformedHelloError
		opErr    *net.OpError
		helloErr driver.Error
	)
	switch {
	case errors.Is(err, context.Canceled), isTLS(err),
		errors.As(err, &dnsErr), errors.As(err, &addrErr), errors.As(err, &parseErr),
		errors.As(err, &network), errors.As(err, &address), errors.As(err, &ocspErr), errors.As(err, &answered),
		errors.As(err, &urlErr) && urlErr.Op == "parse": // of a proxy
		return true
	case errors.As(err, &opErr):
		return isProxy(opErr) // the others are of the network
	default:
		return errors.As(err, &helloErr) && !helloErr.HasErrorLabel(driver.NetworkError) // a reply that is an error
	}
}

// isTLS reports whether crypto/tls or crypto/x509 itself made the error, such as an alert, a certificate that is not trusted, or a
// configuration that cannot be used. What all of them have in common, in all releases of Go, is how their texts begin. An I/O error that
// ends the TLS handshake is not among them.
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
