// Package trial runs an application by a plan in virtual time, and records what it, its driver and the servers did. The same plan
// runs with any driver, so that the records can be compared.
package trial

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Plan determines everything that happens in a trial but the driver's own random choices.
type Plan struct {
	Seed     uint64
	Only     string `json:",omitempty"` // the name of a scenario, if there is nothing else
	Topology string
	Options  []string // of the connection string
	Auth     Auth
	Monitor  Monitor
	Batch    int `json:",omitempty"` // how many statements servers take in a write; 0 for very many
	Calls    []Call
	Faults   []Fault
}

// Call is a call of the application.
type Call struct {
	ID       int
	Worker   int // calls of one worker follow each other
	Pause    time.Duration
	Kind     string
	N        int           // of documents, or of statements
	Deadline time.Duration `json:",omitempty"` // of the context; 0 for none
	Cancel   time.Duration `json:",omitempty"` // when the context is cancelled; 0 for never
	// Again is whether the application ends its transaction once more after a commit that failed, by "commit" or "abort".
	Again string `json:",omitempty"`
}

// Auth is how clients authenticate.
type Auth struct {
	Mechanism             string `json:",omitempty"` // none if they do not
	Speculative, Exchange bool   // what the server does: see virtual.Auth
}

// The mechanisms.
const (
	Offered = "offered" // the client takes what the server offers
	Scram   = "SCRAM-SHA-256"
	Plain   = "PLAIN"
	OIDC    = "MONGODB-OIDC"
)

// Monitor is what monitors do beside recording.
type Monitor struct {
	On    string        `json:",omitempty"` // the command's event: "started", "succeeded" or "failed"
	Takes time.Duration `json:",omitempty"` // how long its monitor does nothing
	Asks  time.Duration `json:",omitempty"` // after which its monitor gives up a command of its own; 0 for none
	// Yields is how often others run before a handler of a server's description returns.
	Yields int `json:",omitempty"`
}

// Fault is something that goes wrong. It begins at a time, or with the nth command of a name.
type Fault struct {
	What  string
	At    time.Duration `json:",omitempty"`
	On    string        `json:",omitempty"`
	Nth   int           `json:",omitempty"` // from 1
	For   time.Duration `json:",omitempty"` // how long it lasts, or how long a slow command takes
	Times int           `json:",omitempty"` // how many commands meet it
	Every int           `json:",omitempty"` // only each so-manieth of them
	Code  int32         `json:",omitempty"`
	Host  int           `json:",omitempty"` // from 1; 0 for all
	Field string        `json:",omitempty"` // that a reply lacks
}

// What can go wrong with commands, from the nth on.
const (
	Error   = "error"   // fails with a code and a real server's labels
	Concern = "concern" // executed, with a write concern error
	Reject  = "reject"  // an overload error
	Close   = "close"   // the connection is closed instead
	Lose    = "lose"    // executed; the connection is closed instead of the reply
	Drop    = "drop"    // executed; the connection is closed a moment after the reply
	Slow    = "slow"    // takes a while
	Abort   = "abort"   // the connection is reset instead
	Tear    = "tear"    // the connection is closed after some bytes of a reply
	Lack    = "lack"    // the reply lacks a field
	Huge    = "huge"    // the reply has a large field
	Labels  = "labels"  // the reply has many labels
)

// What can go wrong with servers and the network.
const (
	Silent   = "silent"
	Refusing = "refusing"
	Closing  = "closing"  // new connections are accepted and closed
	Breaking = "breaking" // new connections are accepted and reset
	Away     = "away"     // all connections are reset, new ones closed: a proxy before a server that restarts
	Reset    = "reset"
	Stop     = "stop"
	StepDown = "stepdown"
)

// is reports whether the fault is one of these.
func (f Fault) is(whats ...string) bool { return slices.Contains(whats, f.What) }

func (f Fault) onCommands() bool {
	return f.is(Error, Concern, Reject, Close, Lose, Drop, Slow, Abort, Tear, Lack, Huge, Labels)
}

// establishes reports whether a connection is established by a command.
func establishes(command string) bool {
	return slices.Contains([]string{"hello", "isMaster", "ismaster", "saslStart", "saslContinue"}, command)
}

// interrupted is the code of an overload error that is not retryable.
const interrupted = 473

// overloads reports whether drivers with backpressure may treat the fault as an overload: a reset may meet a connection that is being
// established.
func (f Fault) overloads() bool {
	isRejection := f.What == Reject && f.Code != interrupted
	return isRejection || f.is(Silent, Refusing, Closing, Breaking, Away, Reset, Stop) || establishes(f.On)
}

// Varies reports whether the plan has retryable overload errors, or conflicts, so that drivers draw backoffs, and may differ.
func (p Plan) Varies() bool { return p.faulty(Fault.overloads) || p.Only == Conflicts }

// Free reports whether drivers may do something else without an overload, so that only what always holds is asked of the fork: what
// WithTransaction, a change stream, or a batch does with limited time; which server is chosen.
func (p Plan) Free() bool {
	return slices.Contains([]string{"sharded:2", "sharded:3"}, p.Topology) || p.Has("readPreference=nearest") ||
		slices.ContainsFunc(p.Calls, func(c Call) bool {
			return (c.Kind == "withTransaction" || c.Kind == "watch" || p.Batch > 0) && p.Hurries(c)
		})
}

// OnlyOverloads reports whether nothing but overload errors makes a driver send a command again, be it another batch.
func (p Plan) OnlyOverloads() bool {
	return p.Batch == 0 && !p.faulty(func(f Fault) bool { return f.is(Stop, Away, Reset, Silent, Drop) || !f.overloads() && f.What != Slow })
}

// faulty reports whether the plan has such a fault.
func (p Plan) faulty(is func(Fault) bool) bool { return slices.ContainsFunc(p.Faults, is) }

// Rejects reports whether nothing goes wrong but that commands of calls are rejected, which nothing ends early.
func (p Plan) Rejects() bool {
	return p.KeepsRetrying() && !p.Has("retry") && !p.faulty(func(f Fault) bool { return f.What != Reject })
}

// KeepsRetrying reports whether nothing but the limit, and options that permit retries, ends those of a command that is rejected.
func (p Plan) KeepsRetrying() bool {
	return !p.Has("adaptive") && !p.Has("timeoutMS") && p.Monitor.On == "" && !p.faulty(func(f Fault) bool {
		return f.Code == interrupted || f.On == "killCursors" || !f.onCommands() || establishes(f.On)
	})
}

// Off reports whether the option is off that permits retries of a call of one command after overload errors.
func (p Plan) Off(c Call) bool {
	switch kinds[c.Kind].effect {
	case isRead:
		return p.Has("retryReads=false")
	case isCommand:
		return p.Has("retry")
	default:
		return p.Has("retryWrites=false")
	}
}

// Answers reports whether servers that exist can be reached at any time, and reply what they must.
func (p Plan) Answers() bool {
	return !p.faulty(func(f Fault) bool { return f.What == Lack || f.overloads() && !f.is(Reject, Reset) })
}

// Proxied reports whether clients connect to a load balancer.
func (p Plan) Proxied() bool { return strings.HasPrefix(p.Topology, "loadbalanced:") }

// Workers returns the numbers of the plan's workers.
func (p Plan) Workers() map[int]bool {
	workers := map[int]bool{}
	for _, c := range p.Calls {
		workers[c.Worker] = true
	}
	return workers
}

// Turns is the time within which workers that are ready at one instant go on.
func (p Plan) Turns() time.Duration {
	return time.Duration(max(1, len(p.Workers()))-1) * time.Microsecond
}

// Hurries reports whether a call may end because of the time.
func (p Plan) Hurries(c Call) bool {
	return c.Deadline+c.Cancel > 0 || p.Has("timeoutMS") || p.Has("serverSelectionTimeoutMS")
}

// offers reports whether the driver in this program has an option of clients: EnableOverloadRetargeting if it is for the newer
// specification, AdaptiveThrottling if it is a fork.
func offers(option string) bool {
	_, ok := reflect.TypeFor[options.ClientOptions]().FieldByName(option)
	return ok
}

func newest() bool { return offers("EnableOverloadRetargeting") }

// limit returns the number of retries after overload errors that the driver in this program allows.
func (p Plan) limit() int {
	return p.number("maxAdaptiveRetries", map[bool]int{false: 5, true: 2}[newest()])
}

// number returns an option's number, or another one if the plan has not that option.
func (p Plan) number(option string, otherwise int) int {
	for _, o := range p.Options {
		_, _ = fmt.Sscanf(o, option+"=%d", &otherwise)
	}
	return otherwise
}

// Has reports whether the plan has an option, or a call of a kind.
func (p Plan) Has(what string) bool {
	return slices.ContainsFunc(p.Options, func(o string) bool { return strings.HasPrefix(o, what) }) ||
		slices.ContainsFunc(p.Calls, func(c Call) bool { return c.Kind == what })
}
