// Package trial runs an application by a plan in virtual time, records what the application, its driver and the servers did, and judges
// that by rules that hold under any plan.
package trial

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Plan determines everything that happens in a trial, except the numbers that the driver draws.
type Plan struct {
	Seed     uint64
	Topology string
	Options  []string // of the connection string
	Auth     string   // the mechanism by which clients authenticate, "offered" for the one that the server offers
	Batch    int      // how many statements servers take in a write; 0 for very many
	Calls    []Call
	Faults   []Fault
	Hostile  hostility
}

// Call is a call of the application.
type Call struct {
	ID       int
	Pause    time.Duration
	Kind     string
	Way      string        // how it is made: see ways
	N        int           // the number of documents, or of statements
	Deadline time.Duration // of the context; 0 for none
	Cancel   time.Duration // when the context is canceled; 0 for never
}

// commands returns the commands that the call sends.
func (c Call) commands() []string {
	return strings.Fields(kinds[c.Kind].commands + " " + ways[c.Way].command)
}

// Alone reports whether the call's commands are all that its way of being made sends.
func (c Call) Alone() bool { return c.Way == "" || c.Way == "session" || c.Way == "deadline" }

// Fault is something that goes wrong. It begins at a time, or with the nth command of a name.
type Fault struct {
	What  string
	At    time.Duration
	On    string
	Call  int           // if only commands of one call meet it
	Nth   int           // from 1
	For   time.Duration // how long it lasts, or how long a slow command takes
	Times int           // how many commands meet it
	Code  int32
	Host  int // from 1; 0 for all
	// Passing faults are those that retries get over: the calls have to be the same without them.
	Passing bool
}

// What can go wrong.
const (
	// With commands, from the nth on.
	Error   = "error"   // fails with a code and a real server's labels
	Concern = "concern" // executed, with a write concern error
	Reject  = "reject"  // an overload error
	Close   = "close"   // the connection is closed instead
	Lose    = "lose"    // executed; the connection is closed instead of the reply
	Drop    = "drop"    // executed; the connection is closed a moment after the reply
	Slow    = "slow"    // takes a while
	Abort   = "abort"   // the connection is reset instead
	Tear    = "tear"    // the connection is closed after some bytes of a reply
	Lack    = "lack"    // the reply has no postBatchResumeToken

	// With servers and the network.
	Silent   = "silent"
	Refusing = "refusing"
	Closing  = "closing"  // new connections are accepted and closed
	Breaking = "breaking" // new connections are accepted and reset
	Reset    = "reset"
	Stop     = "stop"
	StepDown = "stepdown"
)

// is reports whether the fault is one of these.
func (f Fault) is(whats ...string) bool { return slices.Contains(whats, f.What) }

func (f Fault) onCommands() bool {
	return f.is(Error, Concern, Reject, Close, Lose, Drop, Slow, Abort, Tear, Lack)
}

// establishes reports whether a connection is established by a command.
func establishes(command string) bool {
	return slices.Contains([]string{"hello", "isMaster", "ismaster", "saslStart", "saslContinue"}, command)
}

// disturbs reports whether the fault may meet a connection that is being established, which drivers may treat as an overload.
func (f Fault) disturbs() bool { return !f.onCommands() && f.What != StepDown || establishes(f.On) }

// Peaceful reports whether nothing goes wrong.
func (p Plan) Peaceful() bool { return len(p.Faults) == 0 }

// Passes reports whether the calls have to be the same without some of the faults.
func (p Plan) Passes() bool { return p.faulty(func(f Fault) bool { return f.Passing }) }

// Without returns the plan without the faults that retries get over.
func (p Plan) Without() Plan {
	p.Faults = slices.DeleteFunc(slices.Clone(p.Faults), func(f Fault) bool { return f.Passing })
	return p
}

// OnlyRejects reports whether nothing goes wrong but rejections of commands.
func (p Plan) OnlyRejects() bool { return !p.faulty(func(f Fault) bool { return f.What != Reject }) }

// faulty reports whether the plan has such a fault.
func (p Plan) faulty(is func(Fault) bool) bool { return slices.ContainsFunc(p.Faults, is) }

// Off reports whether the option is off that permits retries of the call's first command.
func (p Plan) Off(c Call) bool {
	effect := kinds[c.Kind].effect
	reads := effect <= isCommand || c.Kind == "watch"
	return reads && p.Has("retryReads=false") || (!reads || effect == isCommand) && p.Has("retryWrites=false")
}

// Proxied reports whether clients connect to a load balancer.
func (p Plan) Proxied() bool { return strings.HasPrefix(p.Topology, "loadbalanced:") }

// Steady reports whether there is one server that clients may choose, and no connection ends because of time.
func (p Plan) Steady() bool {
	return !p.Has("maxIdleTimeMS") && (p.Topology == "standalone" || strings.HasSuffix(p.Topology, ":1"))
}

// Hurries reports whether a call may end because of the time.
func (p Plan) Hurries(c Call) bool {
	return c.Deadline+c.Cancel > 0 || c.Way == "deadline" || p.Has("timeoutMS") || p.Has("serverSelectionTimeoutMS")
}

// Newest reports whether the driver in this program is for the newer specification.
func Newest() bool {
	_, ok := reflect.TypeFor[options.ClientOptions]().FieldByName("EnableOverloadRetargeting")
	return ok
}

// Limit returns the number of retries after overload errors that the driver in this program allows.
func (p Plan) Limit() int {
	limit := map[bool]int{false: 5, true: 2}[Newest()]
	for _, o := range p.Options {
		_, _ = fmt.Sscanf(o, "maxAdaptiveRetries=%d", &limit)
	}
	return limit
}

// Has reports whether the plan has an option, or a call that is of a kind or made in a way.
func (p Plan) Has(what string) bool {
	return slices.ContainsFunc(p.Options, func(o string) bool { return strings.HasPrefix(o, what) }) ||
		slices.ContainsFunc(p.Calls, func(c Call) bool { return c.Kind == what || c.Way == what })
}
