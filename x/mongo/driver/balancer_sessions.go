package driver

import (
	"go.mongodb.org/mongo-driver/v2/internal/driverutil"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// retryWritesSupported reports whether the server supports retryable writes. Behind a load balancer all do.
//
//fork:wrap a service behind a load balancer need not say how long sessions last
func retryWritesSupported(s description.Server) bool {
	return driverutil.IsServerLoadBalanced(s) || upstreamRetryWritesSupported(s)
}

// addSession adds the session's fields to a command. Behind a load balancer sessions are always supported, and do not expire
// (load-balancers.md, "Session Support" and "Session Expiration").
//
//fork:wrap a service behind a load balancer need not say how long sessions last
func (op Operation) addSession(dst []byte, desc description.SelectedServer, retryWrite bool) ([]byte, error) {
	if desc.SessionTimeoutMinutes == nil && driverutil.IsServerLoadBalanced(desc.Server) {
		desc.SessionTimeoutMinutes = new(int64)
	}
	return op.upstreamAddSession(dst, desc, retryWrite)
}
