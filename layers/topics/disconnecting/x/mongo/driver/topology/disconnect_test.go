package topology

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/logger"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/internal/serverselector"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// counting is a context with a deadline that calls a function each time it is asked for its end.
type counting struct {
	context.Context
	asked atomic.Int32
	on    func(int32)
}

func (c *counting) Done() <-chan struct{} {
	c.on(c.asked.Add(1))
	return c.Context.Done()
}

// TestPoolIsClosedWithoutSpinning is about a pool that is closed, with a deadline, while one of its connections is out: it waits for that,
// but does not ask for it all the time.
func TestPoolIsClosedWithoutSpinning(t *testing.T) {
	p := newPool(poolConfig{})
	p.conns[1] = &connection{}
	long, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	late, start := error(nil), time.Now()
	ctx := &counting{Context: long, on: func(n int32) {
		switch n {
		case 1:
			_, late = p.checkOut(context.Background())
		case 3:
			p.createConnectionsCond.L.Lock()
			delete(p.conns, 1) // it broke, and was closed
			p.createConnectionsCond.L.Unlock()
		}
	}}
	p.close(ctx)
	assert.Equal(t, ErrPoolClosed, late, "of whoever asks for a connection meanwhile")
	assert.Equal(t, int32(3), ctx.asked.Load())
	assert.GreaterOrEqual(t, time.Since(start), 2*checkInInterval)
	assert.Equal(t, poolClosed, p.getState())
	p.close(context.Background()) // again
}

// TestShareOfSessions: a quarter of the time is for ending the sessions, but at most two seconds.
func TestShareOfSessions(t *testing.T) {
	for left, want := range map[time.Duration]time.Duration{4 * time.Second: time.Second, time.Minute: 2 * time.Second, 0: 0} {
		assert.Equal(t, want, shareOfSessions(left))
	}
}

// TestPoolTellsThatItIsClosed is about the events and the log of a pool that is closed with an idle connection.
func TestPoolTellsThatItIsClosed(t *testing.T) {
	var told []string
	p := newPool(poolConfig{Address: "a:27017", PoolMonitor: &event.PoolMonitor{Event: func(e *event.PoolEvent) {
		told = append(told, fmt.Sprint(e.Type, " ", e.Address, " ", e.ConnectionID, " ", e.Reason))
	}}})
	log := new(scripted.Log)
	p.logger, _ = logger.New(log, 0, map[logger.Component]logger.Level{logger.ComponentConnection: logger.LevelDebug})
	idle := &connection{pool: p, driverConnectionID: 5, config: &connectionConfig{}}
	p.conns[5], p.idleConns, told = idle, []*connection{idle}, nil
	p.close(context.Background())
	assert.Equal(t, []string{"ConnectionClosed a:27017 5 poolClosed", "ConnectionPoolClosed a:27017 0 "}, told)
	assert.Equal(t, []string{"1 Connection closed", "1 Connection pool closed"}, log.Lines)
	assert.Equal(t, logger.ReasonConnClosedPoolClosed, log.Keys[0][logger.KeyReason])
	assert.Equal(t, 0, p.availableConnectionCount())
}

// TestPoolIsClosedWhileDialling is about whoever waits for a connection that is dialled when its pool is closed, with and without a
// connectTimeout: nobody cancelled anything.
func TestPoolIsClosedWhileDialling(t *testing.T) {
	for _, timeout := range []time.Duration{0, time.Minute} {
		dialled := make(chan struct{})
		p := newPool(poolConfig{ConnectTimeout: timeout}, WithDialer(func(Dialer) Dialer {
			return DialerFunc(func(ctx context.Context, _, _ string) (net.Conn, error) {
				close(dialled)
				<-ctx.Done()
				return nil, ctx.Err()
			})
		}))
		assert.NoError(t, p.ready())
		failed := make(chan error, 1)
		go func() {
			_, err := p.checkOut(context.Background())
			failed <- err
		}()
		<-dialled
		p.close(context.Background())
		err := <-failed
		assert.True(t, errors.Is(err, ErrPoolClosed), "%v: got %v", timeout, err)
		assert.False(t, errors.Is(err, context.Canceled), "%v: got %v", timeout, err)
	}
}

// TestClosedSubscription is about whoever waits for a server with a subscription that is closed: there will be no other description. An
// error of the selector ends the wait, too.
func TestClosedSubscription(t *testing.T) {
	topo := newTopology(t, options.Client())
	updates := make(chan description.Topology)
	close(updates)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	none := serverselector.Func(func(description.Topology, []description.Server) ([]description.Server, error) { return nil, nil })
	_, err := topo.selectServerFromSubscription(ctx, updates, none)
	assert.Equal(t, ErrTopologyClosed, err)
	failed := errors.New("no tags")
	failing := serverselector.Func(func(description.Topology, []description.Server) ([]description.Server, error) {
		topo.state = topologyDisconnected
		return nil, failed
	})
	known := make(chan description.Topology, 1)
	known <- description.Topology{}
	_, err = topo.selectServerFromSubscription(ctx, known, failing)
	assert.ErrorIs(t, err, failed)
	topo.state = topologyConnected
	_, err = topo.SelectServer(ctx, failing)
	assert.Equal(t, ErrTopologyClosed, err, "the client was disconnected meanwhile, which counts more")
	cancel()
	_, err = topo.selectServerFromSubscription(ctx, nil, none)
	assert.ErrorIs(t, err, context.Canceled)
	topo.closing().End()
	_, err = topo.selectServerFromSubscription(context.Background(), nil, none)
	assert.Equal(t, ErrTopologyClosed, err)
}

// TestDrainWakesAll is about those who wait for a connection, idle or new, when the client is disconnected, or begin to wait while it waits
// for its operations: each learns that the pool is closed.
func TestDrainWakesAll(t *testing.T) {
	for _, graceful := range []bool{false, true} {
		topo := newTopology(t, options.Client())
		server := NewServer("a:27017", topo.id, time.Second, WithMaxConnections(func(uint64) uint64 { return 1 }))
		topo.servers["a:27017"] = server
		only := newConnection("a:27017") // so that nobody dials another one
		only.pool = server.pool
		dialling := server.pool.createConnectionsCond.L
		dialling.Lock()
		server.pool.conns[only.driverConnectionID] = only
		dialling.Unlock()
		var all []*wantConn
		join := func() {
			idle, dialled := newWantConn(), newWantConn()
			server.pool.idleConnWait.pushBack(idle)
			dialling.Lock()
			server.pool.newConnWait.pushBack(dialled)
			dialling.Unlock()
			all = append(all, idle, dialled)
		}
		join()
		ctx := context.Background()
		if graceful {
			ended, cancel := context.WithTimeout(ctx, time.Millisecond)
			defer cancel()
			ctx = &counting{Context: ended, on: func(n int32) {
				if n > 1 {
					return
				}
				assert.True(t, topo.closing().Begun() && !topo.closing().Over(), "it waits for operations")
				assert.False(t, all[0].waiting() || all[1].waiting(), "operations may wait for them")
				join()
			}}
		}
		topo.state = topologyConnected
		if !graceful {
			ctx = nil
		}
		assert.NoError(t, topo.Disconnect(ctx))
		assert.Equal(t, graceful, len(all) > 2, "somebody began to wait meanwhile")
		assert.True(t, topo.closing().Over(), "whoever is in a backoff waits")
		for i, w := range all {
			assert.False(t, w.waiting(), "%d", i)
			assert.Equal(t, ErrPoolClosed, w.err, "%d", i)
		}
	}
}

// TestConnectionOfAClosedPool is about whoever asks for a connection when the client is disconnected, and not before.
func TestConnectionOfAClosedPool(t *testing.T) {
	topo := newTopology(t, options.Client())
	server := NewServer("a:27017", topo.id, time.Second, func(cfg *serverConfig) { cfg.overload = topo.cfg.overload })
	server.state = serverConnected
	server.pool.close(context.Background())
	for _, disconnected := range []bool{false, true} {
		if disconnected {
			topo.closing().Begin()
		}
		_, err := server.Connection(context.Background())
		assert.True(t, errors.Is(err, ErrPoolClosed), "got %v", err)
		assert.Equal(t, disconnected, errors.Is(err, ErrTopologyClosed), "got %v", err)
		assert.Equal(t, disconnected, errors.Is(err, backpressure.ErrDisconnected), "got %v", err)
	}
}

// TestChecksLeaveNoGoroutine is about what waits for the server's end beside a check: it ends with the check.
func TestChecksLeaveNoGoroutine(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close()) // so that connections are refused
	server := NewServer(address.Address(listener.Addr().String()), bson.NewObjectID(), time.Minute)
	for i := 0; i < 3; i++ {
		_, err := server.check(context.Background())
		require.NoError(t, err, "the description has the error")
	}
	stacks := make([]byte, 1<<20)
	for end := time.Now().Add(time.Minute); ; runtime.Gosched() {
		waiting := strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "topology.endWith.func")
		if waiting == 0 {
			return
		}
		require.True(t, time.Now().Before(end), "%d goroutines are left", waiting)
	}
}
