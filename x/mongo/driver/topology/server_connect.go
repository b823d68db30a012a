package topology

import (
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// Connect begins to monitor the server. Call it before using the server; it returns ErrServerConnected if it was called before.
//
// The pool stays paused until a check of the server succeeds (connection-monitoring-and-pooling.md, "Creating a Connection Pool";
// server-monitoring.md, "Marking the connection pool as ready"). Commands do not notice, because none selects an unknown server.
// A pool whose server is not monitored, such as that of a load balancer, is ready at once.
//
//fork:replace a heartbeat that failed before the server was known cleared an empty pool, and minPoolSize connected to it
func (s *Server) Connect(updateCallback updateTopologyCallback) error {
	if !atomic.CompareAndSwapInt64(&s.state, serverDisconnected, serverConnected) {
		return ErrServerConnected
	}
	initial := newDefaultServerDescription(s.address)
	if s.cfg.loadBalanced {
		initial.Kind = description.ServerKindLoadBalancer
	}
	s.desc.Store(initial)
	s.updateTopologyCallback.Store(updateCallback)

	if s.cfg.loadBalanced || s.cfg.monitoringDisabled {
		return s.pool.ready()
	}
	s.closewg.Add(1)
	go s.update()
	if s.pool.getState() == poolClosed {
		return ErrPoolNotPaused
	}
	return nil
}
