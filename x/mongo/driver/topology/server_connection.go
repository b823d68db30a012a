package topology

import (
	"context"
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mnet"
)

// checkedOut is a connection that is checked out, in the form that operations expect.
type checkedOut struct {
	Connection
	parts mnet.Connection
}

// Connection checks a connection out of the server's pool. It fails with ErrServerClosed if the server is not connected.
//
// An operation counts from before the check-out, so that those that wait for a connection count, until the connection is returned: if it is
// pinned, until the cursor or the transaction has ended.
//
//fork:replace a connection that was checked out was in three parts of the heap
func (s *Server) Connection(ctx context.Context) (*mnet.Connection, error) {
	if atomic.LoadInt64(&s.state) != serverConnected {
		return nil, ErrServerClosed
	}
	atomic.AddInt64(&s.operationCount, 1)
	conn, err := s.pool.checkOut(ctx)
	if err != nil {
		s.operationEnded()
		return nil, err
	}
	out := &checkedOut{Connection: Connection{connection: conn, cleanupServerFn: s.operationEnded}}
	c := &out.Connection
	out.parts = mnet.Connection{ReadWriteCloser: c, Describer: c, Compressor: c, Pinner: c}
	return &out.parts, nil
}

// operationEnded counts down the operations.
func (s *Server) operationEnded() { atomic.AddInt64(&s.operationCount, -1) }
