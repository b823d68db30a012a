package trial

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// source draws from a seed.
type source struct{ *rand.Rand }

// pick draws one of several.
func pick[T any](s interface{ IntN(n int) int }, from ...T) T {
	if len(from) == 1 {
		return from[0]
	}
	return from[s.IntN(len(from))]
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

// pause is what the application does before a call.
func (s source) pause() time.Duration { return s.between(0, 60) }

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
	b.topology("standalone", "replicaset:1", "replicaset:1", "replicaset:2", "replicaset:3", "sharded:1", "loadbalanced:1",
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
			pick(b, onAnything, ofServers)(b)
		}
		if !b.chance(4) {
			chosen := pick(b, scenarios...)
			if chosen.begin(b); chosen.topologies != "" {
				b.topology(strings.Fields(chosen.topologies)...)
			}
			chosen.about(b)
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
		c := Call{ID: id + 1, Pause: b.pause(), Kind: pick(b, pick(b, kindOf...), favourite),
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

// bare takes away options and authentication, and what goes wrong by chance.
func (b *builder) bare() { b.Options, b.Auth, b.Batch, b.Faults = nil, "", 0, nil }

// calm takes away what goes wrong by chance.
func (b *builder) calm() { b.Faults = nil }

func (b *builder) topology(choices ...string) { b.Topology = pick(b, choices...) }

// set sets options of the connection string, or those of several choices.
func (b *builder) set(choices ...string) {
	for _, option := range strings.FieldsFunc(pick(b, choices...), func(r rune) bool { return r == '&' }) {
		name, _, _ := strings.Cut(option, "=")
		b.without(name + "=")
		b.Options = append(b.Options, option)
	}
}

// of returns calls of these kinds, and writes those of transactions in these ways.
func of(kinds ...string) (calls []Call) {
	for _, kind := range kinds {
		calls = append(calls, Call{Kind: kind})
	}
	return calls
}

func writes(ways ...string) (calls []Call) {
	for _, way := range ways {
		calls = append(calls, Call{Kind: "writes", Way: way})
	}
	return calls
}

// replace puts so many calls in the place of all, and first one in the place of the first.
func (b *builder) replace(call Call, n int) {
	b.Calls = nil
	for id := range n {
		b.Calls = append(b.Calls, Call{ID: id + 1, Pause: b.pause(), Kind: call.Kind, Way: call.Way, N: 1})
	}
}

func (b *builder) first(call Call) { b.Calls[0].Kind, b.Calls[0].Way = call.Kind, call.Way }

// sizes draws how many documents or statements each call has.
func (b *builder) sizes(choices ...int) {
	for i := range b.Calls {
		b.Calls[i].N = pick(b, choices...)
	}
}

// What ends a call.
const deadline, cancel, never = "deadline", "cancel", "never"

// ends draws what ends each call, and after how many milliseconds.
func (b *builder) ends(least, most int, choices ...string) {
	for i := range b.Calls {
		c := &b.Calls[i]
		c.Deadline, c.Cancel = 0, 0
		switch what, after := pick(b, choices...), b.between(least, most); what {
		case deadline:
			c.Deadline = after
		case cancel:
			c.Cancel = after
		}
	}
}

// mishap is what goes wrong, with one of these codes.
type mishap struct {
	what  string
	codes []int32
}

func plain(what string) mishap         { return mishap{what, nil} }
func fails(codes ...int32) mishap      { return mishap{Error, codes} }
func hasConcern(codes ...int32) mishap { return mishap{Concern, codes} }
func rejected(codes ...int32) mishap   { return mishap{Reject, codes} }

// where says which command meets a fault; none does if the fault begins at a time.
type where func(*builder) string

func on(command string) where { return func(*builder) string { return command } }

func atATime(*builder) string   { return "" }
func onFirst(b *builder) string { return b.Calls[0].commands()[0] }
func onAny(b *builder) string   { return pick(b, pick(b, b.Calls...).commands()...) }

func onLast(b *builder) string {
	commands := b.Calls[0].commands()
	return commands[len(commands)-1]
}

// fault adds a fault. It concerns the first command, and one, unless f says more, and lasts for so many milliseconds, if it lasts.
func (b *builder) fault(what mishap, at where, f Fault, lasts ...int) {
	f.What, f.On = what.what, at(b)
	if f.On != "" {
		f.Nth = max(1, f.Nth)
	}
	if f.onCommands() {
		f.Times = max(1, f.Times)
	}
	if what.codes != nil {
		f.Code = pick(b, what.codes...)
	}
	if f.What == Slow || !f.onCommands() {
		f.For = b.between(lasts[0], lasts[1])
	}
	b.Faults = append(b.Faults, f)
}

// options draws options of the connection string; with steady ones, nothing ends a call or its retries early.
func (b *builder) options(steady bool) {
	sometimes := func(oneIn int, choices ...string) { // in so many plans
		if b.chance(oneIn) {
			b.Options = append(b.Options, strings.Split(pick(b, choices...), "&")...)
		}
	}
	if steady {
		b.Options = []string{"adaptiveThrottling=false"}
	} else {
		sometimes(6, "retryReads=false")
		sometimes(6, "retryWrites=false")
		sometimes(5, "timeoutMS=50", "timeoutMS=300", "timeoutMS=2000", "timeoutMS=10000")
		sometimes(5, "serverSelectionTimeoutMS=100", "serverSelectionTimeoutMS=1000", "serverSelectionTimeoutMS=5000")
		sometimes(3, "adaptiveThrottling=true", "adaptiveThrottling=false")
	}
	sometimes(6, "maxPoolSize=1", "maxPoolSize=2")
	sometimes(12, "maxConnecting=1")
	sometimes(8, "maxIdleTimeMS=1", "maxIdleTimeMS=20")
	sometimes(12, "minPoolSize=1", "minPoolSize=2")
	sometimes(12, "compressors=zlib", "compressors=snappy,zlib")
	sometimes(20, "w=0")
	sometimes(5, "heartbeatFrequencyMS=500", "heartbeatFrequencyMS=1000", "heartbeatFrequencyMS=5000")
	sometimes(8, "connectTimeoutMS=100", "connectTimeoutMS=1000")
	sometimes(8, "w=majority", "w=1")
	sometimes(12, "appName=app")
	sometimes(6, "readPreference=secondaryPreferred", "readPreference=primaryPreferred",
		"readPreference=secondaryPreferred&maxStalenessSeconds=100")
	sometimes(12, "readConcernLevel=majority")
	sometimes(8, "adaptiveRetries=true")
	sometimes(6, "maxAdaptiveRetries=0", "maxAdaptiveRetries=1", "maxAdaptiveRetries=9")
	sometimes(12, "enableOverloadRetargeting=true")
	sometimes(12, "timeoutMS=900000")
}
