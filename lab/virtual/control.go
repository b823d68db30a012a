package virtual

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/overload"
	"mongofork/lab/internal/servererror"
)

// SetLink changes the network between clients and hosts of these numbers, or all hosts if none is given.
func (c *Cluster) SetLink(link Link, hosts ...int) {
	for _, h := range c.selected(hosts) {
		h.set(link)
	}
}

// Reset ends all connections to hosts of these numbers, or all hosts if none is given, as a crash does.
func (c *Cluster) Reset(hosts ...int) {
	for _, h := range c.selected(hosts) {
		h.reset()
	}
}

// Stop crashes a server: its connections are reset, and new ones refused. If it was primary, another is elected.
func (c *Cluster) Stop(host int) {
	c.SetLink(Refusing, host)
	c.Reset(host)
	c.topology.Down(host)
}

// Restart brings back a server that was stopped.
func (c *Cluster) Restart(host int) {
	c.topology.Up(host)
	c.SetLink(Up, host)
}

// StepDown makes the primary, if there is one, a secondary for that long.
func (c *Cluster) StepDown(period time.Duration) { c.topology.StepDown(period) }

// Capacity is what a server can do.
type Capacity = overload.Capacity

// SetCapacity gives all hosts a capacity each.
func (c *Cluster) SetCapacity(capacity *Capacity) {
	for _, h := range c.network.hosts {
		h.limits.SetCapacity(capacity)
	}
}

// LimitRequests limits the requests that hosts of these numbers, or all hosts, admit per second.
func (c *Cluster) LimitRequests(perSecond int32, burst float64, hosts ...int) {
	for _, h := range c.selected(hosts) {
		h.limits.Requests.SetLimit(overload.Limit{Enabled: true, RatePerSec: perSecond, BurstCapacitySecs: burst})
	}
}

// LimitConnections limits the new connections that all hosts let in per second. They close others at once.
func (c *Cluster) LimitConnections(perSecond int32, burst float64) {
	for _, h := range c.network.hosts {
		h.limits.Connections.SetLimit(overload.Limit{Enabled: true, RatePerSec: perSecond, BurstCapacitySecs: burst})
	}
}

func (c *Cluster) selected(hosts []int) (selected []*host) {
	for _, index := range hosts {
		selected = append(selected, c.network.hosts[index])
	}
	if len(hosts) == 0 {
		return c.network.hosts
	}
	return selected
}

// RequestRate is the rejection with code 462, both labels, and NoWritesPerformed.
var RequestRate = servererror.RequestRate

// Fail returns the reply of a server for a command that failed, with the labels that a real one gives it.
func Fail(command Command, code int32) bson.Raw {
	failure := servererror.Errorf(code, "the command fails by plan")
	failure.Labels = servererror.Labels(command.Body, code, 0, false)
	return failure.Reply()
}

// WithConcern returns a reply with a write concern error, and the labels that a server gives it.
func WithConcern(command Command, reply bson.Raw, code int32) bson.Raw {
	if reply == nil {
		return nil
	}
	concern := bsondoc.D("code", code, "codeName", servererror.CodeName(code), "errmsg", "the write concern fails by plan")
	return servererror.WithConcern(reply, concern, servererror.Labels(command.Body, 0, code, false))
}
