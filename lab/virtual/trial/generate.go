package trial

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// source draws from a seed.
type source struct{ *rand.Rand }

func pick[T any](s source, from ...T) T { return from[s.IntN(len(from))] }

// chance is true once in n times.
func (s source) chance(n int) bool { return s.IntN(n) == 0 }

// word draws one of the words of a text, if there are any; "-" is none.
func (s source) word(text string) string {
	if text == "" {
		return ""
	}
	return strings.TrimPrefix(pick(s, strings.Fields(text)...), "-")
}

// number draws one of the numbers of a text.
func (s source) number(text string) int {
	n, _ := strconv.Atoi(s.word(text))
	return n
}

// between draws a time in milliseconds, short ones as often as long ones, or none.
func (s source) between(within [2]int) time.Duration {
	least, most := within[0], within[1]
	if most == 0 {
		return 0
	}
	for least < most && s.chance(2) {
		most = max(least, most/3)
	}
	return time.Duration(least+s.IntN(most-least+1))*time.Millisecond + time.Duration(s.IntN(1000))*time.Microsecond
}

var pauses = [2]int{0, 60} // before calls

// New returns the plan of a seed. Of ten, two are without faults, three have faults that retries get over, and five any.
func New(seed uint64) Plan {
	s := source{rand.New(rand.NewPCG(seed, 1))}
	p := Plan{Seed: seed}
	p.Topology = s.word("standalone replicaset:1 replicaset:1 replicaset:2 replicaset:3 sharded:1 loadbalanced:1 loadbalanced:1")
	class, kindOf := s.IntN(10), names(kinds)
	p.Options = s.options(class < 5)
	if class >= 5 {
		kindOf = slices.DeleteFunc(kindOf, func(name string) bool { return slices.Contains(rare, name) })
	}
	if class >= 2 {
		p.without("w=0")
	}
	if class < 5 {
		s.calls(&p, kindOf, 0)
		p.Batch = s.number("0 0 1 2")
		p.Auth = s.word("- - - offered PLAIN SCRAM-SHA-256 MONGODB-OIDC")
		if p.sane(); class >= 2 {
			s.pass(&p)
		}
	} else {
		s.calls(&p, kindOf, 4)
		for range pick(s, 1, 1, 2, 2, 3) {
			p.Faults = append(p.Faults, s.fault(&p, pick(s, byChance...)))
		}
		if !s.chance(4) {
			s.stage(&p, pick(s, scenarios...))
		}
		p.sane()
	}
	if p.Peaceful() {
		p.comparable()
	}
	return p
}

// calls draws the calls. Some end early, if they may: one of so many by a deadline.
func (s source) calls(p *Plan, kindOf []string, hurried int) {
	favourite := pick(s, kindOf...)
	for id := range 1 + s.IntN(6) {
		c := Call{ID: id + 1, Pause: s.between(pauses), Kind: pick(s, pick(s, kindOf...), favourite),
			N: 1 + s.IntN(4), Way: pick(s, "", pick(s, names(ways)...))}
		if hurried > 0 && s.chance(hurried) {
			c.Deadline = s.between([2]int{1, 3000})
		} else if hurried > 0 && s.chance(10) {
			c.Cancel = s.between([2]int{1, 1000})
		}
		p.Calls = append(p.Calls, c)
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
func (s source) pass(p *Plan) {
	if p.Limit() == 0 {
		return
	}
	for _, c := range p.Calls {
		if s.chance(4) {
			continue
		}
		f := Fault{What: Reject, Code: pick(s, int32(461), 462, 463), On: pick(s, c.commands()...), Call: c.ID,
			Nth: pick(s, 1, 1, 2, 3), Times: 1 + s.IntN(p.Limit()), Passing: true}
		first, effect := c.commands()[0], kinds[c.Kind].effect
		rereads := effect == isRead && f.On == first && c.Alone()
		rewrites := effect >= isRetryable && c.Alone() && p.Topology != "standalone" && f.On != "getMore" && f.On != "aggregate" &&
			!(f.On == "bulkWrite" && p.Batch > 0 && p.Proxied()) // whose cursor would end with its connection
		switch ends := strings.HasSuffix(f.On, "Transaction"); {
		case s.chance(2):
		case rereads, rewrites && c.Kind != "watch" && !(c.Kind == "bulkWrite" && f.On == "delete"), ends && c.Way != "within":
			f.What, f.Code, f.Times = s.word("close lose abort tear error error"), 0, 1
			if f.What == Error {
				f.Code = pick(s, int32(91), 189, 10107, 11600, 6, 89, 262)
			}
		case c.Kind == "watch" && f.On == "getMore" && c.Alone(): // which begins again
			f.What, f.Code, f.Times = Error, 43, 1
		}
		if f.On == "killCursors" { // Close takes at most 10 seconds, in which the backoffs have to fit
			f.Times = min(f.Times, 5)
		}
		p.Faults = append(p.Faults, f)
	}
}

// stage makes the plan one of a scenario.
func (s source) stage(p *Plan, c scenario) {
	if c.bare {
		p.Options, p.Auth, p.Batch = nil, "", 0
	}
	p.Topology = cmp.Or(s.word(c.topology), p.Topology)
	for _, option := range strings.FieldsFunc(s.word(c.options), func(r rune) bool { return r == '&' }) {
		name, _, _ := strings.Cut(option, "=")
		p.without(name + "=")
		p.Options = append(p.Options, option)
	}
	kind, way, _ := strings.Cut(s.word(c.kind), "/")
	if c.calls != "" {
		p.Calls = nil
		for id := range s.number(c.calls) {
			p.Calls = append(p.Calls, Call{ID: id + 1, Pause: s.between(pauses), Kind: kind, Way: way, N: 1})
		}
	} else if kind != "" {
		p.Calls[0].Kind, p.Calls[0].Way = kind, way
	}
	for i := range p.Calls {
		call := &p.Calls[i]
		call.N = cmp.Or(s.number(c.n), call.N)
		if c.ends != "" {
			ends := map[string]time.Duration{s.word(c.ends): s.between(c.within)}
			call.Deadline, call.Cancel = ends["deadline"], ends["cancel"]
		}
	}
	p.Batch = cmp.Or(s.number(c.batch), p.Batch)
	p.Auth = cmp.Or(s.word(c.auth), p.Auth)
	if c.faults != nil {
		p.Faults = nil
	}
	for _, d := range c.faults {
		if !d.maybe || s.chance(2) {
			p.Faults = append(p.Faults, s.fault(p, d))
		}
	}
}

// fault draws a fault.
func (s source) fault(p *Plan, d disorder) Fault {
	what, codes, _ := strings.Cut(s.word(d.what), ":")
	f := Fault{What: what, Code: int32(s.number(strings.ReplaceAll(codes, ",", " "))), Host: s.number(d.host), At: s.between(d.at),
		Passing: d.passing}
	commands := p.Calls[0].commands()
	switch f.On = s.word(d.on); f.On {
	case "":
	case "first":
		f.On = commands[0]
	case "last":
		f.On = commands[len(commands)-1]
	case "any":
		f.On = pick(s, pick(s, p.Calls...).commands()...)
	}
	if f.On != "" {
		f.Nth = max(1, s.number(d.nth))
	}
	if f.onCommands() {
		f.Times = max(1, s.number(d.times))
	}
	if f.What == Slow || !f.onCommands() {
		f.For = s.between(d.lasts)
	}
	return f
}

// options draws options of the connection string; with steady ones, nothing ends a call or its retries early.
func (s source) options(steady bool) (options []string) {
	if steady {
		options = append(options, "adaptiveThrottling=false")
	}
	for i, o := range []struct {
		one     int // in so many plans
		options string
	}{
		{6, "retryReads=false"}, {6, "retryWrites=false"}, {5, "timeoutMS=50 timeoutMS=300 timeoutMS=2000 timeoutMS=10000"},
		{5, "serverSelectionTimeoutMS=100 serverSelectionTimeoutMS=1000 serverSelectionTimeoutMS=5000"},
		{3, "adaptiveThrottling=true adaptiveThrottling=false"}, // steady options begin here
		{6, "maxPoolSize=1 maxPoolSize=2"}, {12, "maxConnecting=1"}, {8, "maxIdleTimeMS=1 maxIdleTimeMS=20"},
		{12, "minPoolSize=1 minPoolSize=2"}, {12, "compressors=zlib compressors=snappy,zlib"}, {20, "w=0"},
		{5, "heartbeatFrequencyMS=500 heartbeatFrequencyMS=1000 heartbeatFrequencyMS=5000"},
		{8, "connectTimeoutMS=100 connectTimeoutMS=1000"}, {8, "w=majority w=1"}, {12, "appName=app"},
		{6, "readPreference=secondaryPreferred readPreference=primaryPreferred " +
			"readPreference=secondaryPreferred&maxStalenessSeconds=100"},
		{12, "readConcernLevel=majority"},
		{8, "adaptiveRetries=true"}, {6, "maxAdaptiveRetries=0 maxAdaptiveRetries=1 maxAdaptiveRetries=9"},
		{12, "enableOverloadRetargeting=true"}, {12, "timeoutMS=900000"},
	} {
		if (!steady || i > 4) && s.chance(o.one) {
			options = append(options, strings.Split(s.word(o.options), "&")...)
		}
	}
	return options
}
