package topology

import "context"

// checkOut takes an idle connection if there is one, and if nobody is told of it. Otherwise it asks for one and waits.
//
//fork:wrap a request that waits for a connection, with a channel, was made although nobody waits
func (p *pool) checkOut(ctx context.Context) (*connection, error) {
	if p.monitor == nil && !mustLogPoolMessage(p) {
		if conn := p.takeIdle(); conn != nil {
			return conn, nil
		}
	}
	return p.upstreamCheckOut(ctx)
}

// takeIdle returns the connection that has been idle for the shortest time, or nil if there is none or the pool is not ready.
func (p *pool) takeIdle() *connection {
	p.stateMu.RLock() // so that nobody pauses or closes the pool in between
	defer p.stateMu.RUnlock()
	if p.state != poolReady {
		return nil
	}
	p.idleMu.Lock()
	defer p.idleMu.Unlock()
	last := len(p.idleConns) - 1
	if last < 0 {
		return nil
	}
	conn := p.idleConns[last]
	if _, perished := connectionPerished(conn); perished { // the longer way removes it
		return nil
	}
	p.idleConns = p.idleConns[:last]
	return conn
}
