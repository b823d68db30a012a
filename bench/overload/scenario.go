// Package overload puts an open-loop load on overloaded servers: operations start when they are due, regardless of earlier ones,
// and their latency counts from then. It uses only what every compared driver has. Its tests are the program that "make bench"
// compiles with each driver; what is to be measured is data.
package overload

import (
	"math/rand/v2"
	"time"
)

// Scenario is a load and the servers that it meets.
type Scenario struct {
	Name string
	// Clients share the load at random.
	Clients int
	// Load is a multiple of the capacity.
	Load Load
	// Capacity is the number of operations per second that the servers can serve together.
	Capacity float64
	// Limit is the number of requests per second that each server admits. It replaces the capacity: admitted requests do not wait, and
	// rejections cost nothing. 0 means that there is no limit.
	Limit int32
	// RejectionCost is the work of a rejection as a share of that of an operation that is served; a tenth if it is nil.
	RejectionCost *float64 `yaml:"rejectionCost"`
	// NewConnections is the number of new connections that a server lets in per second, of clients that have none when the load begins.
	// It closes others. 0 means that there is no limit.
	NewConnections int32 `yaml:"newConnections"`
	// Warmup precedes Duration and a second follows it, under the same load; only Duration is measured.
	Warmup, Duration time.Duration
	// Topology is a topology of the lab; a standalone if it is empty.
	Topology string
	// Options are those of all clients' connection strings.
	Options string
	// MemberLoad is the load on the first member, which admits less than the others, as a multiple of what it admits; 0 if it
	// admits as much.
	MemberLoad float64 `yaml:"memberLoad"`
	// Classes are the operations; none stand for reads by the same command from one collection.
	Classes []Class
	// Neighbours are the options of other clients' connection strings, instead of the arm's: of all but every second client, or all but
	// one of OneOf.
	Neighbours string
	OneOf      int `yaml:"oneOf"`
	// Seeds is the number of runs with different arrivals, of which results are means.
	Seeds int
}

// Class is a class of operations.
type Class struct {
	Name string
	// Share is its share of the operations.
	Share float64
	// Command is "find", if it is empty, or "insert", or "transaction" for two reads and a commit, which the servers' capacity then
	// counts as one.
	Command string
	// Clients is the number of further clients that send only operations of this class, or 0 if all clients send them.
	Clients int
	// Criticality is 1 if it is critical, and -1 if it is sheddable. It means nothing to a driver that has no classes.
	Criticality int8
	// Rejected is the probability with which the server rejects each of its commands, at no cost.
	Rejected float64
	// From is when that begins, Until when it ends, if it does.
	From, Until time.Duration
}

// Load is the rate at which operations arrive.
type Load struct {
	// Base is the load between bursts.
	Base float64
	// Peak is the load for the time Burst at the start of each Period, if there are any; the first Period starts at Start.
	Peak                 float64
	Start, Burst, Period time.Duration
}

// arrivals returns the times at which operations are due: a Poisson process. If the load varies, it is the process of the peak, thinned
// out.
func (l Load) arrivals(random *rand.Rand, capacity float64, end time.Duration) []time.Duration {
	highest := max(l.Base, l.Peak)
	var all []time.Duration
	for now := time.Duration(0); ; {
		now += time.Duration(random.ExpFloat64() / (highest * capacity) * float64(time.Second))
		if now >= end {
			return all
		}
		load := l.Base
		if l.Period > 0 && now >= l.Start && (now-l.Start)%l.Period < l.Burst {
			load = l.Peak
		}
		if load == highest || random.Float64()*highest < load {
			all = append(all, now)
		}
	}
}

// Job is one run of a scenario with a driver's options.
type Job struct {
	Scenario Scenario
	// Options are those of the connection string.
	Options string
	// Spent makes the clients spend their buckets' tokens before the load begins.
	Spent bool
	Seed  uint64
}
