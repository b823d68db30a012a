package sim

import (
	"time"

	"mongofork/internal/retry"
)

// Selection names how a client chooses among servers.
type Selection string

// The selections in the comparison. With each of them, a retry goes to another server than the last attempt if there is one.
const (
	// AtRandom picks any server. It suits servers that are equally loaded.
	AtRandom Selection = ""
	// TwoChoices picks the one of two random servers with fewer of the client's operations in progress, as drivers do.
	TwoChoices Selection = "operations in progress"
	// WithRejections is the fork's: recent rejections count like operations in progress.
	WithRejections Selection = "operations in progress and rejections"
)

func (s Selection) valid() bool {
	return s == AtRandom || s == TwoChoices || s == WithRejections
}

// client is the state of one client.
type client struct {
	policy    *retry.Policy
	servers   []load // nil if the selection does not look at it
	rule      retry.Throttling
	throttles []*retry.Throttle // of each server; nil if the client does not throttle

	other           bool // it has the policy of the others
	arrived, served int
}

// load is a client's knowledge of a server's load.
type load struct {
	inProgress int64
	rejections *retry.Rejections // nil if the selection ignores them
}

// newClient returns the client of that index.
func newClient(s Scenario, i int, jitter func() float64, now func() time.Time) *client {
	policy := s.Policy
	other := s.Others != "" && i%2 == 1
	if other {
		policy = s.Others
	}
	c := &client{policy: policy.newClient(jitter), other: other}
	if policy == Throttling {
		c.rule = retry.DefaultThrottling()
		if s.Variant != nil {
			c.rule = s.Variant.Rule
		}
		for range s.Servers {
			c.throttles = append(c.throttles, retry.NewThrottle(c.rule, now))
		}
	}
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

// sent records an attempt.
func (c *client) sent(server int) {
	if c.servers != nil {
		c.servers[server].inProgress++
	}
}

// replied records the end of an attempt.
func (c *client) replied(server int, admitted bool) {
	if c.throttles != nil {
		c.throttles[server].Ended(!admitted)
	}
	if c.servers == nil {
		return
	}
	c.servers[server].inProgress--
	if !admitted {
		c.servers[server].rejections.Add()
	}
}

// operations is the number that selections compare.
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
