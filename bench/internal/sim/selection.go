package sim

import (
	"time"

	"mongofork/internal/retry"
)

// Selection names how a client chooses among servers.
type Selection string

// The selections that are compared. Whichever it is, a retry goes to another server than the last attempt if there is one.
const (
	// AtRandom is any of them. It does for servers that are equally loaded.
	AtRandom Selection = ""
	// TwoChoices is that of two random ones with which the client has fewer operations in progress, as drivers do.
	TwoChoices Selection = "operations in progress"
	// WithRejections is the fork's: rejections of late count like operations in progress.
	WithRejections Selection = "operations in progress and rejections"
)

func (s Selection) valid() bool {
	return s == AtRandom || s == TwoChoices || s == WithRejections
}

// client is the state of one client.
type client struct {
	policy  *retry.Policy
	servers []load // nil if the selection does not look at it
}

// load is what a client knows of the load of a server.
type load struct {
	inProgress int64
	rejections *retry.Rejections // nil if the selection does not count them
}

func newClient(s Scenario, jitter func() float64, now func() time.Time) *client {
	c := &client{policy: s.Policy.newClient(jitter)}
	if s.Selection != AtRandom {
		c.servers = make([]load, s.Servers)
	}
	if s.Selection == WithRejections {
		for i := range c.servers {
			c.servers[i].rejections = retry.NewRejections(now)
		}
	}
	return c
}

// sent takes note of an attempt.
func (c *client) sent(server int) {
	if c.servers != nil {
		c.servers[server].inProgress++
	}
}

// replied takes note of the end of an attempt.
func (c *client) replied(server int, admitted bool) {
	if c.servers == nil {
		return
	}
	c.servers[server].inProgress--
	if !admitted {
		c.servers[server].rejections.Add()
	}
}

// operations is what selections compare.
func (c *client) operations(server int) int64 {
	return c.servers[server].inProgress + c.servers[server].rejections.Count()
}

// choose returns the server for the next attempt of an operation: not the one that has just rejected it if there is another.
func (r *run) choose(op *operation) int {
	n := r.Servers
	avoided := op.server != noServer && n > 1
	if avoided {
		n--
	}
	candidate := func(i int) int {
		if avoided && i >= op.server {
			return i + 1
		}
		return i
	}
	i := r.random.IntN(n)
	if r.Selection == AtRandom || n == 1 {
		return candidate(i)
	}
	j := r.random.IntN(n - 1)
	if j >= i {
		j++
	}
	first, second := candidate(i), candidate(j)
	if op.client.operations(first) < op.client.operations(second) {
		return first
	}
	return second
}
