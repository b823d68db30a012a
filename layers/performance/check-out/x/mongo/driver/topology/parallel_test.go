package topology

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mnet"
)

// inParallel calls f in many goroutines, many times each.
func inParallel(f func(goroutine, n int)) {
	const goroutines, times = 32, 200
	var working sync.WaitGroup
	for g := 0; g < goroutines; g++ {
		g := g
		working.Add(1)
		go func() {
			defer working.Done()
			for n := 0; n < times; n++ {
				f(g, n)
			}
		}()
	}
	working.Wait()
}

// TestIdleConnectionIsTakenOnce: of many goroutines that take and return idle connections, no two have the same one.
func TestIdleConnectionIsTakenOnce(t *testing.T) {
	t.Parallel()
	const connections = 8
	p := idlePool(t, nil, connections)
	var used [connections + 1]int32
	inParallel(func(int, int) {
		c := p.takeIdle()
		if c == nil {
			return
		}
		if !atomic.CompareAndSwapInt32(&used[c.driverConnectionID], 0, 1) {
			t.Errorf("connection %d has two users", c.driverConnectionID)
		}
		atomic.StoreInt32(&used[c.driverConnectionID], 0)
		if err := p.checkIn(c); err != nil {
			t.Error(err)
		}
	})
	assert.Equal(t, connections, p.availableConnectionCount())
	assert.Equal(t, connections, p.totalConnectionCount())
}

// TestCheckedOutConnectionIsReturnedOnce: of many goroutines that close what was checked out, one returns it, and whoever kept it has no
// connection any more, even if another checkout has the same one.
func TestCheckedOutConnectionIsReturnedOnce(t *testing.T) {
	t.Parallel()
	p := idlePool(t, nil, 1)
	s := &Server{pool: p, state: serverConnected}
	var kept []*mnet.Connection
	for n := 0; n < 50; n++ {
		out, err := s.Connection(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		assert.Equal(t, int64(1), s.OperationCount())
		var closing sync.WaitGroup
		for g := 0; g < 8; g++ {
			closing.Add(1)
			go func() {
				defer closing.Done()
				_ = out.Close()
			}()
		}
		closing.Wait()
		assert.Equal(t, 1, p.availableConnectionCount())
		assert.Equal(t, int64(0), s.OperationCount())
		kept = append(kept, out)
	}
	out, err := s.Connection(context.Background())
	assert.NoError(t, err)
	for _, old := range kept {
		_, err := old.Read(context.Background())
		assert.ErrorIs(t, err, ErrConnectionClosed)
		assert.NoError(t, old.Close())
	}
	assert.Equal(t, 0, p.availableConnectionCount())
	assert.NoError(t, out.Close())
}
