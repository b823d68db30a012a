package topology

import "context"

// withHeartbeatTimeout returns the context of a check, which has no timeout if connecting has none, and a function that ends it.
//
//fork:wrap with connectTimeoutMS=0 there was no function, and calling it ended the monitor of the server for good
func withHeartbeatTimeout(parent context.Context, srv *Server) (context.Context, context.CancelFunc) {
	ctx, cancel := upstreamWithHeartbeatTimeout(parent, srv)
	if cancel == nil {
		return ctx, func() {}
	}
	return ctx, cancel
}
