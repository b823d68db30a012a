package topology

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
)

// start measures round trip times until the monitor is disconnected. This takes one more connection; for a server that limits
// their rate the first measurement is left out, because the monitor makes its own.
//
//fork:wrap with adaptiveThrottling, operations need the connection more
func (r *rttMonitor) start() {
	if r.cfg.pace.skip(r.ctx, r.cfg.interval) != nil {
		return
	}
	r.upstreamStart()
}

// rttConfig holds the pace of the server's monitor.
//
//fork:extend with adaptiveThrottling, the monitor's experience decides when the round trip time is measured
type rttConfig struct {
	pace *heartbeatPace
}

// heartbeatPace says how long a client with adaptiveThrottling waits between checks of a server that closes their connections. Only
// the monitor's goroutine uses it, except for skip. A nil heartbeatPace never waits, as server-monitoring.md has it.
type heartbeatPace struct {
	overload *backpressure.Policy
	longest  time.Duration // heartbeatFrequencyMS

	next time.Time // no check before this time
	met  atomic.Bool
}

// wait waits until the server may be checked, or returns the context's error.
func (p *heartbeatPace) wait(ctx context.Context) error {
	if p == nil {
		return nil
	}
	wait := p.next.Sub(p.overload.Clock.Now())
	if wait <= 0 {
		return nil
	}
	return p.overload.Clock.Sleep(ctx, nil, nil, wait)
}

// connected records the result of establishing a connection for a check.
func (p *heartbeatPace) connected(err error) {
	if p == nil || !turnedAway(err) {
		return
	}
	p.met.Store(true)
	p.next = p.overload.Clock.Now().Add(pauseAfter(p.overload.Jitter(), p.longest))
}

// skip waits for that time if the server has ever closed the connection of a check, or returns the context's error.
func (p *heartbeatPace) skip(ctx context.Context, interval time.Duration) error {
	if p == nil || !p.met.Load() {
		return nil
	}
	return p.overload.Clock.Sleep(ctx, nil, nil, interval)
}

// turnedAway reports whether a connection could not be established because the server accepted and then closed it, as a server
// does that limits the rate of new connections. An unreachable or unresponsive server is another matter.
func turnedAway(err error) bool {
	if cannotBeOverload(err) {
		return false
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return true
	}
	var opErr *net.OpError
	return errors.As(err, &opErr) && opErr.Op != "dial" && !opErr.Timeout()
}

const (
	// leastPause is minHeartbeatFrequencyMS (server-monitoring.md).
	leastPause = 500 * time.Millisecond

	// randomPause is the longest random part of the wait, and how much later than others a client with adaptiveThrottling may notice
	// that a server is back.
	randomPause = time.Second
)

// pauseAfter returns the least time between the end of a check in which the server closed the connection before it was established, and
// the beginning of the next check: minHeartbeatFrequencyMS plus jitter * 1 s, but no more than heartbeatFrequencyMS, after which checks
// take place anyway. Jitter is in [0, 1).
func pauseAfter(jitter float64, heartbeatFrequency time.Duration) time.Duration {
	pause := leastPause + time.Duration(jitter*float64(randomPause))
	if pause > heartbeatFrequency {
		return heartbeatFrequency
	}
	return pause
}
