// Package metrics counts the requests at the fronts.
package metrics

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/wire"
)

const (
	// maxCommands bounds the names that are counted separately, because clients may send any name.
	maxCommands = 256
	// otherCommand stands for the names beyond that.
	otherCommand = "other"

	// maxAttempts is the highest attempt that is counted separately; later ones count as it.
	maxAttempts = 9
)

// Recorder counts the requests of any number of fronts, in bounded memory. It is safe for concurrent use.
type Recorder struct {
	hosts    []string
	attempts *attempts

	mu       sync.RWMutex
	commands map[string][]counters // by name, one for each front
}

// counters count one command at one front.
type counters struct {
	received, admitted, rejected, errors, closed atomic.Int64

	latency  atomic.Int64 // nanoseconds, summed
	attempts [maxAttempts + 1]atomic.Int64
}

// New returns a recorder for the fronts at these hosts.
func New(hosts []string) *Recorder {
	return &Recorder{hosts: hosts, attempts: newAttempts(), commands: map[string][]counters{}}
}

// Handler returns the handler that counts the requests of a front. It comes first in the chain, to see everything.
func (r *Recorder) Handler(front int) proxy.Handler { return handler{r, front} }

type handler struct {
	recorder *Recorder
	front    int
}

// Handle implements proxy.Handler.
func (h handler) Handle(ctx context.Context, req *proxy.Request, reply proxy.ReplyFunc, next proxy.Next) error {
	start := time.Now()
	c := h.recorder.counters(req.Command, h.front)
	c.received.Add(1)
	c.attempts[h.recorder.attempts.number(req)].Add(1)

	counted := false // further replies of a stream do not answer this request
	err := next(ctx, req, func(m *wire.Message) error {
		if !counted {
			counted = true
			c.latency.Add(int64(time.Since(start)))
			c.count(outcomeOf(m.Document()))
		}
		return reply(m)
	})
	switch {
	case counted:
	case err == nil && !req.Acknowledged():
		c.count(admitted)
	default:
		c.count(closed)
	}
	return err
}

// counters returns the counters of a command at a front.
func (r *Recorder) counters(command string, front int) *counters {
	r.mu.RLock()
	all, known := r.commands[command]
	r.mu.RUnlock()
	if known {
		return &all[front]
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.commands[command]; !known && len(r.commands) >= maxCommands {
		command = otherCommand
	}
	if r.commands[command] == nil {
		r.commands[command] = make([]counters, len(r.hosts))
	}
	return &r.commands[command][front]
}
