package topology

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/logger"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mnet"
)

// ErrTopologyClosed is returned when a user attempts to call a method on a closed Topology, and to whoever waits when it is closed.
//
//fork:replace a retry has to know that the client was disconnected, and keep the error of the attempt before
var ErrTopologyClosed error = topologyClosedError{}

type topologyClosedError struct{} // of a type of its own, which can have a method Is

func (topologyClosedError) Error() string { return "topology is closed" }

// Is lets the driver's packages find that the client was disconnected.
func (topologyClosedError) Is(target error) bool { return target == backpressure.ErrDisconnected }

// disconnectedError is the error of who needed a connection when the client was disconnected.
type disconnectedError struct{ Wrapped error }

func (e disconnectedError) Error() string {
	return backpressure.ErrDisconnected.Error() + ": " + e.Wrapped.Error()
}

func (e disconnectedError) Unwrap() error { return e.Wrapped }

func (e disconnectedError) Is(target error) bool {
	return target == ErrTopologyClosed || target == backpressure.ErrDisconnected
}

// closing returns the end of the topology's client.
func (t *Topology) closing() *backpressure.Closing { return t.cfg.overload.Closing() }

// Drain prepares for Disconnect. It wakes whoever waits for a server or a connection, and lets no operation begin but those that end
// cursors, transactions and sessions. If the context has a deadline, it then waits until the operations that run have ended, with their
// retries, but leaves some of that time for ending the sessions. In the end it wakes whoever is in a backoff, and again whoever waits for
// a connection.
func (t *Topology) Drain(ctx context.Context) {
	t.closing().Begin()
	t.wakeAll()
	if deadline, graceful := ctx.Deadline(); graceful {
		ctx, cancel := context.WithDeadline(ctx, deadline.Add(-shareOfSessions(time.Until(deadline))))
		t.closing().Drain(ctx)
		cancel()
	}
	t.closing().End()
	t.wakeAll()
}

// shareOfSessions returns how much of a Disconnect's time is for ending the sessions.
func shareOfSessions(left time.Duration) time.Duration {
	if share := left / 4; share < backpressure.CleanUpTime {
		return share
	}
	return backpressure.CleanUpTime
}

// wakeAll wakes whoever waits for a connection.
func (t *Topology) wakeAll() {
	t.serversLock.Lock()
	defer t.serversLock.Unlock()
	for _, server := range t.servers {
		server.pool.wake(ErrPoolClosed)
	}
}

// Whoever waits for a server, a connection or the end of a backoff fails with ErrTopologyClosed.
//
//fork:wrap backoffs went on, and who waited was woken only at the end
func (t *Topology) Disconnect(ctx context.Context) error {
	if atomic.LoadInt64(&t.state) == topologyConnected { // not every topology is that of a Client, which drains it first
		if ctx == nil {
			ctx = context.Background()
		}
		t.Drain(ctx)
	}
	return t.upstreamDisconnect(ctx)
}

// SelectServer selects a server, or fails with ErrTopologyClosed once the topology is disconnected.
//
//fork:wrap who began to wait at that moment got an error without a type
func (t *Topology) SelectServer(ctx context.Context, selector description.ServerSelector) (driver.Server, error) {
	selected, retErr := t.upstreamSelectServer(ctx, selector)
	if retErr != nil && ctx.Err() == nil && atomic.LoadInt64(&t.state) != topologyConnected { // the end of the context counts more
		retErr = ErrTopologyClosed
	}
	return selected, retErr
}

// selectServerFromSubscription waits until a server is suitable, the context ends, or the topology is closed.
//
//fork:replace a subscription that was closed looked like new descriptions without end
func (t *Topology) selectServerFromSubscription(
	ctx context.Context,
	updates <-chan description.Topology,
	selector description.ServerSelector,
) ([]description.Server, error) {
	woken := t.closing().Woken()
	latest := t.Description()
	for {
		select {
		case <-ctx.Done():
			return nil, ServerSelectionError{Desc: latest, Wrapped: ctx.Err()}
		case <-woken:
			return nil, ErrTopologyClosed
		case update, open := <-updates:
			if !open {
				return nil, ErrTopologyClosed
			}
			latest = update
		}
		if found, err := t.selectServerFromDescription(latest, selector); err != nil || len(found) > 0 {
			return found, err
		}
		t.RequestImmediateCheck()
	}
}

// Connection gets a connection, or fails with an error that ErrTopologyClosed is one of once the client is being disconnected.
//
//fork:wrap whoever waits for a connection has to learn that the client was disconnected
func (s *Server) Connection(ctx context.Context) (*mnet.Connection, error) {
	conn, retErr := s.upstreamConnection(ctx)
	if retErr != nil && s.cfg.overload.Closing().Begun() && (errors.Is(retErr, ErrPoolClosed) || errors.Is(retErr, ErrServerClosed)) {
		retErr = disconnectedError{retErr}
	}
	return conn, retErr
}

// pool knows when it is closed.
//
//fork:extend without a connectTimeout, nothing else ends the dialling of a connection
type pool struct {
	done chan struct{}
}

// newPool makes what tells that the pool is closed.
//
//fork:extend without a connectTimeout, nothing else ends the dialling of a connection
func newPool(poolConfig, ...ConnectionOption) *pool {
	return &pool{done: make(chan struct{})}
}

// connect establishes the connection. Without a connectTimeout, that also ends when the pool is closed.
//
//fork:wrap without a connectTimeout, nothing else ends the dialling of a connection
func (c *connection) connect(ctx context.Context) error {
	if c.pool != nil && ctx.Done() == nil {
		var cancel context.CancelFunc
		ctx, cancel = endWith(ctx, c.pool.done)
		defer cancel()
	}
	return c.upstreamConnect(ctx)
}

// endWith returns a context that also ends when the channel is closed.
func endWith(ctx context.Context, done <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-done:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// wake gives an error to all who wait for a connection.
func (p *pool) wake(err error) {
	p.idleMu.Lock()
	giveAll(&p.idleConnWait, err)
	p.idleMu.Unlock()

	p.createConnectionsCond.L.Lock()
	giveAll(&p.newConnWait, err)
	p.createConnectionsCond.L.Unlock()
}

func giveAll(waiting *wantConnQueue, err error) {
	for w := waiting.popFront(); w != nil; w = waiting.popFront() {
		w.tryDeliver(nil, err)
	}
}

// checkInInterval is how often a pool that is being closed looks whether its connections are back.
const checkInInterval = 10 * time.Millisecond // too short to be noticed, too long to cost anything

// close closes the pool and its connections, and gives ErrPoolClosed to whoever waits for one. If the context has a deadline, it first
// waits until the connections are back, or the context ends.
//
//fork:replace it asked without a pause whether they are back, and woke whoever waits only then
func (p *pool) close(ctx context.Context) {
	p.stateMu.Lock()
	closed := p.state == poolClosed
	p.state = poolClosed // from now on nobody begins to wait
	p.stateMu.Unlock()
	if closed {
		return
	}

	p.wake(ErrPoolClosed)            // before dialling ends, with an error that says nothing
	p.createConnectionsCond.L.Lock() // a goroutine between its look at the context and its wait would miss the Broadcast
	p.cancelBackgroundCtx()
	close(p.done)
	p.createConnectionsCond.Broadcast()
	p.createConnectionsCond.L.Unlock()
	p.backgroundDone.Wait()
	p.generation.disconnect()

	if ctx != nil { // as Server.Disconnect may be called without one
		if _, graceful := ctx.Deadline(); graceful {
			p.awaitCheckIns(ctx)
		}
	}
	idle, all := p.takeConns()
	p.closeAll(idle)
	p.tellClosed() // before the events of connections that are in use, as monitors know it
	p.closeAll(all)
}

// takeConns takes the idle connections, and returns them and a copy of all: to close one takes the lock, and removes it from the map.
func (p *pool) takeConns() (idle, all []*connection) {
	p.idleMu.Lock()
	idle, p.idleConns = p.idleConns, nil
	p.idleMu.Unlock()

	p.createConnectionsCond.L.Lock()
	defer p.createConnectionsCond.L.Unlock()
	for _, conn := range p.conns {
		all = append(all, conn)
	}
	return idle, all
}

// awaitCheckIns waits until all connections are idle, or the context ends.
func (p *pool) awaitCheckIns(ctx context.Context) {
	ticker := time.NewTicker(checkInInterval)
	defer ticker.Stop()
	for p.totalConnectionCount() != p.availableConnectionCount() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// tellClosed logs and publishes that the pool is closed.
func (p *pool) tellClosed() {
	if mustLogPoolMessage(p) {
		logPoolMessage(p, logger.ConnectionPoolClosed)
	}
	if p.monitor != nil {
		p.monitor.Event(&event.PoolEvent{Type: event.ConnectionPoolClosed, Address: p.address.String()})
	}
}

// closeAll removes connections from the pool that is closed, and closes them.
func (p *pool) closeAll(conns []*connection) {
	why := reason{loggerConn: logger.ReasonConnClosedPoolClosed, event: event.ReasonPoolClosed}
	for _, conn := range conns {
		_ = p.removeConnection(conn, why, nil)
		_ = p.closeConnection(conn)
	}
}
