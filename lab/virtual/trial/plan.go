// Package trial runs an application by a plan in virtual time, records what the application, its driver and the servers did, and judges
// that by rules that hold under any plan.
package trial

import (
	"cmp"
	_ "embed"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/tools/strict"
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
	What    string
	At      time.Duration
	On      string
	Call    int           // if only commands of one call meet it
	Nth     int           // from 1
	For     time.Duration // how long it lasts, or how long a slow command takes
	Times   int           // how many commands meet it
	Code    int32
	Host    int  // from 1; 0 for all
	Passing bool // retries get over it: the calls have to be the same without them
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

func (f Fault) onCommands() bool {
	return slices.Contains([]string{Error, Concern, Reject, Close, Lose, Drop, Slow, Abort, Tear, Lack}, f.What)
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

//go:embed plans.yaml
var plansText []byte

// from is what plans are drawn from.
var from = sync.OnceValue(func() (all struct {
	Options []struct {
		In    int
		Of    []string
		Early bool
	}
	Chance    []mishap
	Scenarios []scenario
	Fields    []string
}) {
	if err := strict.Decode(plansText, &all); err != nil {
		panic(err)
	}
	return all
})

// scenario is what a plan may be about.
type scenario struct {
	Stays, Bare                       bool
	Topology, Set, First, Calls, Auth []string
	Count, N, Batch                   []int
	Ends                              []string // of each call
	Within                            [2]int   // so many milliseconds
	Faults                            []mishap
}

// mishap is a fault that is drawn.
type mishap struct {
	Maybe, Passing   bool
	What, On         []string
	Nth, Times, Host []int
	At, Lasts        [2]int
}

// source draws from a seed.
type source struct{ *rand.Rand }

// pick draws one of several, if there are any.
func pick[T any](s interface{ IntN(n int) int }, of ...T) (one T) {
	switch len(of) {
	case 0:
		return one
	case 1:
		return of[0]
	}
	return of[s.IntN(len(of))]
}

// chance is true once in n times.
func (s source) chance(n int) bool { return s.IntN(n) == 0 }

// between draws a time in milliseconds, short ones as often as long ones.
func (s source) between(least, most int) time.Duration {
	for least < most && s.chance(2) {
		most = max(least, most/3)
	}
	return time.Duration(least+s.IntN(most-least+1))*time.Millisecond + time.Duration(s.IntN(1000))*time.Microsecond
}

// builder draws a plan.
type builder struct {
	source
	Plan
}

func newBuilder(seed, stream uint64) *builder {
	return &builder{source{rand.New(rand.NewPCG(seed, stream))}, Plan{Seed: seed}}
}

// New returns the plan of a seed. Of ten, two are without faults, three have faults that retries get over, and five any.
func New(seed uint64) Plan {
	b := newBuilder(seed, 1)
	b.Topology = pick(b, "standalone", "replicaset:1", "replicaset:1", "replicaset:2", "replicaset:3", "sharded:1", "loadbalanced:1",
		"loadbalanced:1")
	class, kindOf := b.IntN(10), names(kinds)
	b.options(class < 5)
	if class >= 5 {
		kindOf = slices.DeleteFunc(kindOf, func(name string) bool { return slices.Contains(rare, name) })
	}
	if class >= 2 {
		b.without("w=0")
	}
	if class < 5 {
		b.calls(kindOf, 0)
		b.Batch = pick(b, 0, 0, 1, 2)
		b.Auth = pick(b, "", "", "", "offered", "PLAIN", "SCRAM-SHA-256", "MONGODB-OIDC")
		if b.sane(); class >= 2 {
			b.pass()
		}
	} else {
		b.calls(kindOf, 4)
		for range pick(b, 1, 1, 2, 2, 3) {
			b.fault(pick(b, from().Chance...))
		}
		if !b.chance(4) {
			b.about(pick(b, from().Scenarios...))
		}
		b.sane()
	}
	if b.Peaceful() {
		b.comparable()
	}
	return b.Plan
}

// calls draws the calls. Some end early, if they may: one of so many by a deadline.
func (b *builder) calls(kindOf []string, hurried int) {
	favourite := pick(b, kindOf...)
	for id := range 1 + b.IntN(6) {
		c := Call{ID: id + 1, Pause: b.between(0, 60), Kind: pick(b, pick(b, kindOf...), favourite),
			N: 1 + b.IntN(4), Way: pick(b, "", pick(b, names(ways)...))}
		if hurried > 0 && b.chance(hurried) {
			c.Deadline = b.between(1, 3000)
		} else if hurried > 0 && b.chance(10) {
			c.Cancel = b.between(1, 1000)
		}
		b.Calls = append(b.Calls, c)
	}
}

// sane changes what cannot be, and that of which nothing can be told because upstream panics or waits for ever.
func (p *Plan) sane() {
	for i := range p.Calls {
		c := &p.Calls[i]
		switch {
		case p.Has("w=0") && c.Kind == "aggregateOut", p.Auth == "MONGODB-OIDC" && c.Kind == "watch":
			c.Kind = "aggregate"
		case c.Kind == "clientBulkWriteMany" && p.Proxied(), c.Way == "snapshot" && kinds[c.Kind].effect != isRead,
			p.Has("w=0") && !c.Alone():
			c.Kind, c.Way = "findOne", ""
		}
		if p.Has("minPoolSize") { // upstream has its first connections sooner, which then are idle sooner
			c.Pause += 5 * time.Millisecond
		}
		if p.Topology == "standalone" && (slices.Contains(ofSets, c.Kind) || slices.Contains(ofSets, c.Way)) {
			p.Topology = "replicaset:1"
		}
	}
	if !Newest() { // upstream ignores it, and the fork refuses it
		p.without("enableOverloadRetargeting")
	}
	if p.Has("maxPoolSize") {
		p.without("minPoolSize")
	}
	if p.Has("minPoolSize") || p.Proxied() { // where upstream returns connections at other times
		p.without("maxIdleTimeMS")
	}
	if p.Batch > 0 && (p.Has("clientBulkWriteMany") || p.Has("clientBulkWrite")) { // which wait for the connections of others
		p.without("maxPoolSize")
	}
}

// comparable changes that in which the fork differs from upstream though nothing goes wrong: docs/differences.md has the reasons.
func (p *Plan) comparable() {
	tells := []string{"insertMany", "bulkWrite", "watch"} // what was accepted, if a later command of a transaction fails
	if p.Has("clientBulkWrite") || p.Has("clientBulkWriteMany") ||
		slices.ContainsFunc(p.Calls, func(c Call) bool { return slices.Contains(tells, c.Kind) && !c.Alone() }) {
		p.Batch = 0
	}
	p.without("timeoutMS")
	for i := range p.Calls {
		c := &p.Calls[i]
		c.Deadline, c.Cancel = 0, 0
		if c.Kind == "download" { // whose filters compare by $eq
			c.Kind = "find"
		}
	}
}

// without removes an option.
func (p *Plan) without(name string) {
	p.Options = slices.DeleteFunc(p.Options, func(o string) bool { return strings.HasPrefix(o, name) })
}

// pass adds faults that retries get over, for some of the calls one each.
func (b *builder) pass() {
	if b.Limit() == 0 {
		return
	}
	for _, c := range b.Calls {
		if b.chance(4) {
			continue
		}
		f := Fault{What: Reject, Code: pick(b, int32(461), 462, 463), On: pick(b, c.commands()...), Call: c.ID,
			Nth: pick(b, 1, 1, 2, 3), Times: 1 + b.IntN(b.Limit()), Passing: true}
		first, effect := c.commands()[0], kinds[c.Kind].effect
		rereads := effect == isRead && f.On == first && c.Alone()
		rewrites := effect >= isRetryable && c.Alone() && b.Topology != "standalone" && f.On != "getMore" && f.On != "aggregate" &&
			!(f.On == "bulkWrite" && b.Batch > 0 && b.Proxied()) // whose cursor would end with its connection
		switch ends := strings.HasSuffix(f.On, "Transaction"); {
		case b.chance(2):
		case rereads, rewrites && c.Kind != "watch" && !(c.Kind == "bulkWrite" && f.On == "delete"), ends && c.Way != "within":
			f.What, f.Code, f.Times = pick(b, Close, Lose, Abort, Tear, Error, Error), 0, 1
			if f.What == Error {
				f.Code = pick(b, int32(91), 189, 10107, 11600, 6, 89, 262)
			}
		case c.Kind == "watch" && f.On == "getMore" && c.Alone(): // which begins again
			f.What, f.Code, f.Times = Error, 43, 1
		}
		if f.On == "killCursors" { // Close takes at most 10 seconds, in which the backoffs have to fit
			f.Times = min(f.Times, 5)
		}
		b.Faults = append(b.Faults, f)
	}
}

// about makes the plan one about a scenario.
func (b *builder) about(s scenario) {
	if s.Bare {
		b.Options, b.Auth, b.Batch = nil, "", 0
	}
	if !s.Stays {
		b.Faults = nil
	}
	if s.Topology != nil {
		b.Topology = pick(b, s.Topology...)
	}
	for option := range strings.SplitSeq(pick(b, s.Set...), "&") {
		if name, _, is := strings.Cut(option, "="); is {
			b.without(name + "=")
			b.Options = append(b.Options, option)
		}
	}
	if s.First != nil {
		b.Calls[0].Kind, b.Calls[0].Way, _ = strings.Cut(pick(b, s.First...), " ")
	}
	if s.Calls != nil {
		kind, way, _ := strings.Cut(pick(b, s.Calls...), " ")
		b.Calls = nil
		for id := range pick(b, s.Count...) {
			b.Calls = append(b.Calls, Call{ID: id + 1, Pause: b.between(0, 60), Kind: kind, Way: way, N: 1})
		}
	}
	for i := range b.Calls {
		b.Calls[i].N = cmp.Or(pick(b, s.N...), b.Calls[i].N)
	}
	b.Batch, b.Auth = cmp.Or(pick(b, s.Batch...), b.Batch), cmp.Or(pick(b, s.Auth...), b.Auth)
	for i := 0; s.Ends != nil && i < len(b.Calls); i++ {
		c := &b.Calls[i]
		c.Deadline, c.Cancel = 0, 0
		switch what, after := pick(b, s.Ends...), b.between(s.Within[0], s.Within[1]); what {
		case "deadline":
			c.Deadline = after
		case "cancel":
			c.Cancel = after
		}
	}
	for _, m := range s.Faults {
		b.fault(m)
	}
}

// fault adds a fault. It concerns the first command, and one, unless the mishap says more.
func (b *builder) fault(m mishap) {
	if m.Maybe && !b.chance(2) {
		return
	}
	what, on := strings.Fields(pick(b, m.What...)), pick(b, m.On...)
	f := Fault{What: what[0], On: on, Nth: pick(b, m.Nth...), Times: pick(b, m.Times...), Host: pick(b, m.Host...), Passing: m.Passing}
	if m.At[1] > 0 {
		f.At = b.between(m.At[0], m.At[1])
	}
	switch first := b.Calls[0].commands(); on {
	case "first":
		f.On = first[0]
	case "last":
		f.On = first[len(first)-1]
	case "any":
		f.On = pick(b, pick(b, b.Calls...).commands()...)
	}
	if f.On != "" {
		f.Nth = max(1, f.Nth)
	}
	if f.onCommands() {
		f.Times = max(1, f.Times)
	}
	code, _ := strconv.Atoi(pick(b, what[1:]...))
	f.Code = int32(code)
	if f.What == Slow || !f.onCommands() {
		f.For = b.between(m.Lasts[0], m.Lasts[1])
	}
	b.Faults = append(b.Faults, f)
}

// options draws options of the connection string; with steady ones, nothing ends a call or its retries early.
func (b *builder) options(steady bool) {
	if steady {
		b.Options = []string{"adaptiveThrottling=false"}
	}
	for _, o := range from().Options {
		if !(steady && o.Early) && b.chance(o.In) {
			b.Options = append(b.Options, strings.Split(pick(b, o.Of...), "&")...)
		}
	}
}

// Draw returns a call that succeeds on a replica set or routers, where nothing goes wrong.
func Draw(chance *rand.Rand, id int) Call {
	s := source{chance}
	c := Call{ID: id, N: 1 + s.IntN(3), Kind: pick(s, names(kinds)...), Way: pick(s, "", pick(s, names(ways)...))}
	if slices.Contains(rare, c.Kind) {
		c.N = 2
	}
	if c.Kind == "watch" || c.Way == "snapshot" && kinds[c.Kind].effect != isRead {
		c.Way = ""
	}
	return c
}
