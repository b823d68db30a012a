package topology

import (
	"context"
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mnet"
)

// checkedOut is a connection that is checked out, in the form that operations expect.
type checkedOut struct {
	Connection
	parts mnet.Connection // all of which are the Connection
}

// Connection checks a connection out of the server's pool. The operation is in operationCount, by which servers are chosen,
// until the connection is returned: also while it waits for one, and while the connection is pinned.
//
//fork:replace a connection that was checked out was in three parts of the heap
func (s *Server) Connection(ctx context.Context) (*mnet.Connection, error) {
	if state := atomic.LoadInt64(&s.state); state != serverConnected {
		return nil, ErrServerClosed
	}
	atomic.AddInt64(&s.operationCount, 1)
	out, err := &checkedOut{}, error(nil)
	if out.connection, err = s.pool.checkOut(ctx); err != nil {
		s.endOperation()
		return nil, err
	}
	out.cleanupServerFn = s.endOperation
	c := &out.Connection
	out.parts = mnet.Connection{ReadWriteCloser: c, Describer: c, Compressor: c, Pinner: c}
	return &out.parts, nil
}

// endOperation is called when the connection is returned, or at once if there is none.
func (s *Server) endOperation() { atomic.AddInt64(&s.operationCount, -1) }
