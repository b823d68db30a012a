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

// New returns the plan of a seed.
func New(seed uint64) Plan {
	s := source{rand.New(rand.NewPCG(seed, 1))}
	p := Plan{Seed: seed}
	p.Topology = s.word("standalone replicaset:1 replicaset:1 replicaset:2 replicaset:3 sharded:1 loadbalanced:1 loadbalanced:1")
	p.Options = s.options()
	workers := pick(s, 1, 1, 1, 2, 3)
	names := slices.DeleteFunc(kindNames(), func(name string) bool { return slices.Contains(featured, name) })
	favourite := pick(s, names...)
	for id := range 1 + s.IntN(6) {
		c := Call{ID: id + 1, Worker: s.IntN(workers), Pause: s.between(pauses), Kind: pick(s, pick(s, names...), favourite),
			N: 1 + s.IntN(3)}
		if s.chance(4) {
			c.Deadline = s.between([2]int{1, 3000})
		} else if s.chance(10) {
			c.Cancel = s.between([2]int{1, 1000})
		}
		p.Calls = append(p.Calls, c)
	}
	overloaded := s.chance(3)
	for range pick(s, 0, 1, 1, 1, 2, 2, 3) {
		var f Fault
		for f.What == "" || f.overloads() != overloaded && !s.chance(20) {
			f = s.fault(&p, pick(s, byChance...))
		}
		p.Faults = append(p.Faults, f)
	}
	for range pick(s, 0, 1, 1, 2) {
		s.stage(&p, pick(s, scenarios...))
	}
	// Upstream keeps the connection that the monitor's command waits for, and reauthenticates one that it has given back.
	manyReplies := p.Has("clientBulkWriteMany") || p.Batch > 0 && p.Has("clientBulkWrite")
	if manyReplies || p.Proxied() && p.Auth.Mechanism == OIDC {
		p.Monitor.Asks = 0
	}
	for i := range p.Calls {
		c := &p.Calls[i]
		if p.Monitor.Asks > 0 || manyReplies { // for whose connections the others would wait
			c.Worker = 0
		}
		if p.Has("minPoolSize") { // upstream has its first connections sooner, which then are idle sooner
			c.Pause += 5 * time.Millisecond
		}
		if p.Has("w=0") && c.Kind == "aggregateOut" || p.Auth.Mechanism == OIDC && c.Kind == "watch" || // upstream panics
			p.Has("retryWrites=false") && strings.HasPrefix(c.Kind, "clientBulk") && len(p.Faults) > 0 { // and sends this again all the same
			c.Kind = "aggregate"
		}
		if slices.Contains(ofSets, c.Kind) && p.Topology == "standalone" {
			p.Topology = "replicaset:1"
		}
	}
	if p.Has("minPoolSize") || p.Proxied() { // where upstream returns connections at other times
		p.without("maxIdleTimeMS")
	}
	hurries := slices.ContainsFunc(p.Calls, p.Hurries)
	for i := range p.Faults {
		f := &p.Faults[i]
		if p.Proxied() && f.is(Labels, Concern, Lack) && strings.HasPrefix(fields[f.On], "cursor") {
			f.What = Huge // else upstream never returns the connection of the cursor
		}
		// Drivers connect anew until a call's deadline, or for minPoolSize without end.
		if f.is(Close, Lose, Drop, Abort, Tear) && (establishes(f.On) && p.Has("minPoolSize") || !establishes(f.On) && hurries) {
			f.Times = min(f.Times, 10)
		}
	}
	return p
}

// without removes an option.
func (p *Plan) without(name string) {
	p.Options = slices.DeleteFunc(p.Options, func(o string) bool { return strings.HasPrefix(o, name) })
}

// stage makes the plan one of a scenario.
func (s source) stage(p *Plan, c scenario) {
	if p.Only = c.only; c.bare || c.only != "" {
		p.Options, p.Auth, p.Monitor, p.Batch = nil, Auth{}, Monitor{}, 0
	}
	p.Topology = cmp.Or(s.word(c.topology), p.Topology)
	for _, option := range strings.FieldsFunc(s.word(c.options), func(r rune) bool { return r == '&' }) {
		name, _, _ := strings.Cut(option, "=")
		p.without(name + "=")
		p.Options = append(p.Options, option)
	}
	kind := cmp.Or(s.word(c.kind), p.Calls[0].Kind)
	if c.calls == "" {
		p.Calls[0].Kind = kind
	} else {
		p.Calls = nil
		workers := max(1, s.number(c.workers))
		for id := range workers * s.number(c.calls) {
			p.Calls = append(p.Calls, Call{ID: id + 1, Worker: id % workers, Pause: s.between(pauses), Kind: kind, N: 1})
		}
	}
	for i := range p.Calls {
		call := &p.Calls[i]
		call.N = cmp.Or(s.number(c.n), call.N)
		call.Again = cmp.Or(s.word(c.again), call.Again)
		if c.ends != "" {
			ends := map[string]time.Duration{s.word(c.ends): s.between(c.within)}
			call.Deadline, call.Cancel = ends["deadline"], ends["cancel"]
		}
	}
	p.Calls[0].Pause = cmp.Or(s.between(c.pause), p.Calls[0].Pause)
	p.Batch = cmp.Or(s.number(c.batch), p.Batch)
	if c.auth != "" {
		p.Auth = Auth{Mechanism: s.word(c.auth), Speculative: s.chance(2), Exchange: s.chance(4)}
	}
	if c.monitor != "" {
		p.Monitor = Monitor{On: s.word(c.monitor), Takes: s.between(c.takes), Asks: s.between(c.asks), Yields: 100 * s.IntN(2)}
	}
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
	f := Fault{What: what, Code: int32(s.number(strings.ReplaceAll(codes, ",", " "))), Host: s.number(d.host), At: s.between(d.at)}
	first := strings.Fields(kinds[p.Calls[0].Kind].commands)
	switch f.On = s.word(d.on); f.On {
	case "":
	case "first":
		f.On = first[0]
	case "last":
		f.On = first[len(first)-1]
	case "any":
		f.On = s.word(kinds[pick(s, p.Calls...).Kind].commands)
	}
	if f.On != "" {
		f.Nth = max(1, s.number(d.nth))
	}
	if f.onCommands() {
		f.Times, f.Every = max(1, s.number(d.times)), s.number(d.every)
	}
	if f.What == Slow || !f.onCommands() {
		f.For = s.between(d.lasts)
	}
	if f.What == Lack {
		f.Field = cmp.Or(d.field, s.word(fields[f.On]+" ok $clusterTime operationTime"))
	}
	return f
}

// fields are those that replies must have, by the command.
var fields = map[string]string{
	"find":            "cursor cursor.firstBatch cursor.firstBatch cursor.id cursor.ns",
	"aggregate":       "cursor cursor.firstBatch cursor.firstBatch cursor.id",
	"listCollections": "cursor cursor.firstBatch cursor.id", "listIndexes": "cursor cursor.firstBatch cursor.id",
	"getMore": "cursor cursor.nextBatch cursor.id", "insert": "n ok", "update": "n nModified", "delete": "n",
	"findAndModify": "value lastErrorObject", "count": "n", "distinct": "values", "listDatabases": "databases",
	"bulkWrite": "cursor cursor.firstBatch cursor.id nInserted",
}

func (s source) options() (options []string) {
	for _, o := range []struct {
		one     int // in so many plans
		options string
	}{
		{6, "retryReads=false"}, {6, "retryWrites=false"}, {5, "timeoutMS=50 timeoutMS=300 timeoutMS=2000 timeoutMS=10000"},
		{6, "maxPoolSize=1 maxPoolSize=2"}, {60, "minPoolSize=1"}, {12, "maxConnecting=1"},
		{8, "maxIdleTimeMS=1 maxIdleTimeMS=20"},
		{5, "heartbeatFrequencyMS=500 heartbeatFrequencyMS=1000 heartbeatFrequencyMS=5000"},
		{5, "serverSelectionTimeoutMS=100 serverSelectionTimeoutMS=1000 serverSelectionTimeoutMS=5000"},
		{8, "connectTimeoutMS=100 connectTimeoutMS=1000"}, {8, "w=majority w=1"}, {12, "appName=app"},
		{6, "readPreference=secondaryPreferred readPreference=primaryPreferred"},
		{8, "serverMonitoringMode=poll serverMonitoringMode=stream"}, {12, "readConcernLevel=majority"},
		{8, "adaptiveRetries=true"}, {6, "maxAdaptiveRetries=0 maxAdaptiveRetries=1 maxAdaptiveRetries=9"},
		{12, "enableOverloadRetargeting=true"}, {6, "adaptiveThrottling=true"},
	} {
		if s.chance(o.one) {
			options = append(options, s.word(o.options))
		}
	}
	return options
}
