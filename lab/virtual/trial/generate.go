package trial

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// source draws from a seed.
type source struct{ *rand.Rand }

func pick[T any](s source, from ...T) T { return from[s.IntN(len(from))] }

// chance is true once in n times.
func (s source) chance(n int) bool { return s.IntN(n) == 0 }

// between returns a time in milliseconds, short ones as often as long ones.
func (s source) between(least, most int) time.Duration {
	for least < most && s.chance(2) {
		most = max(least, most/3)
	}
	return time.Duration(least+s.IntN(most-least+1))*time.Millisecond + time.Duration(s.IntN(1000))*time.Microsecond
}

// New returns the plan of a seed.
func New(seed uint64) Plan {
	s := source{rand.New(rand.NewPCG(seed, 1))}
	p := Plan{Seed: seed}
	p.Topology = pick(s, "standalone", "replicaset:1", "replicaset:1", "replicaset:2", "replicaset:3", "sharded:1", "sharded:2",
		"loadbalanced:1", "loadbalanced:1")
	p.Options = s.options()
	workers := pick(s, 1, 1, 1, 2, 3)
	names := slices.DeleteFunc(kindNames(), func(name string) bool { return slices.Contains(featured, name) })
	if p.Topology == "standalone" {
		names = slices.DeleteFunc(names, func(name string) bool { return kinds[name].set })
	}
	favourite := pick(s, names...)
	calls := 6
	if p.Topology == "sharded:2" || p.Has("readPreference=nearest") {
		calls = 2 // the driver chooses servers at random, and more choices would seldom agree
	}
	for id := range 1 + s.IntN(calls) {
		c := Call{ID: id + 1, Worker: s.IntN(workers), Pause: s.between(0, 60), Kind: pick(s, pick(s, names...), favourite),
			N: 1 + s.IntN(3)}
		if s.chance(4) {
			c.Deadline = s.between(1, 3000)
		} else if s.chance(10) {
			c.Cancel = s.between(1, 1000)
		}
		p.Calls = append(p.Calls, c)
	}
	overloaded := s.chance(3)
	for range pick(s, 0, 1, 1, 1, 2, 2, 3) {
		f := s.fault(p)
		for f.overloads() != overloaded && !s.chance(20) {
			f = s.fault(p)
		}
		p.Faults = append(p.Faults, f)
	}
	if s.chance(3) {
		pick(s, source.ended, source.ended, source.storm, source.bulk, source.killed, source.killed, source.spent)(s, &p)
	}
	if seed%2 == 0 && len(p.Calls) <= 20 { // from a source of their own, so that they change no other plan
		source{rand.New(rand.NewPCG(seed, 2))}.features(&p)
	}
	if p.Monitor.Asks > 0 || p.Has("clientBulkWriteMany") { // for whose connections the others would wait
		for i := range p.Calls {
			p.Calls[i].Worker = 0
		}
	}
	if p.Has("minPoolSize") { // upstream has its connections sooner, which then are idle sooner
		p.Options = slices.DeleteFunc(p.Options, func(o string) bool { return strings.HasPrefix(o, "maxIdleTimeMS") })
		for i := range p.Calls {
			p.Calls[i].Pause += established
		}
	}
	return p
}

// established is when pools have their first connections.
const established = 5 * time.Millisecond

// calls replaces the calls by some of one kind.
func (s source) calls(p *Plan, workers, each int, kind string) {
	p.Calls = nil
	for id := range workers * each {
		p.Calls = append(p.Calls, Call{ID: id + 1, Worker: id % workers, Pause: s.between(0, 60), Kind: kind, N: 1})
	}
}

// ended makes the end of transactions fail, often after the caller's deadline or cancellation.
func (s source) ended(p *Plan) {
	if p.Topology == "standalone" {
		p.Topology = "replicaset:1"
	}
	s.calls(p, 1, 1+s.IntN(3), pick(s, "withTransaction", "withTransaction", "abortedTransaction", "transaction"))
	for i := range p.Calls {
		p.Calls[i].N = pick(s, 1, 1, 3)
		switch s.IntN(3) {
		case 0:
			p.Calls[i].Deadline = s.between(1, 15)
		case 1:
			p.Calls[i].Cancel = s.between(1, 15)
		}
	}
	p.Faults = []Fault{{What: pick(s, Reject, Reject, Close, Error), Code: 462, On: pick(s, "commitTransaction", "abortTransaction",
		"abortTransaction"), Nth: 1, Times: 1 + s.IntN(3)}}
}

// storm makes transactions need a connection for their end, when new ones are closed.
func (s source) storm(p *Plan) {
	p.Topology = pick(s, "loadbalanced:1", "replicaset:1", "sharded:1")
	p.Options = append(p.Options, "maxIdleTimeMS=1", pick(s, "adaptiveRetries=true", "maxAdaptiveRetries=0", "appName=storm"))
	s.calls(p, 1, 1, pick(s, "withTransaction", "withTransaction", "transaction"))
	if s.chance(2) {
		p.Calls[0].Deadline = s.between(100, 2000)
	}
	p.Faults = []Fault{{What: pick(s, Drop, Drop, Close), On: "update", Nth: 1, Times: 1},
		{What: pick(s, Closing, Refusing), On: "update", Nth: 1, For: s.between(500, 4000)}}
}

// bulk interrupts bulk writes in which a statement fails.
func (s source) bulk(p *Plan) {
	s.calls(p, 1, 2, pick(s, "bulkWrite", "insertMany", "clientBulkWrite"))
	for i := range p.Calls {
		p.Calls[i].N, p.Calls[i].Deadline = pick(s, 2, 3, 4), s.between(1, 600)
	}
	p.Faults = []Fault{{What: Concern, Code: pick[int32](s, 91, 11600, 64), On: pick(s, "insert", "bulkWrite"), Nth: 1 + s.IntN(2),
		Times: 1 + s.IntN(2)}}
}

// killed makes a server end running commands, which is no rejection.
func (s source) killed(p *Plan) {
	p.Options = append(p.Options, "adaptiveThrottling=true")
	s.calls(p, pick(s, 1, 3), 10, pick(s, "findOne", "countDocuments", "insertOne"))
	p.Faults = []Fault{{What: Reject, Code: interrupted, On: kinds[p.Calls[0].Kind].commands[0], Nth: 1, Times: 1000,
		Every: pick(s, 2, 4)}}
}

// spent makes retries spend tokens, so slowly that nothing is held back, and then attempts that are.
func (s source) spent(p *Plan) {
	p.Options = []string{"adaptiveRetries=true", "adaptiveThrottling=true"}
	const workers, slow, rejected = 5, 35, 100
	s.calls(p, workers, 60, pick(s, "findOne", "insertOne", "updateOne"))
	for id := range slow {
		p.Calls[id].Pause = 15 * time.Second
		if id < workers {
			p.Calls[id].Pause += time.Duration(id) * 3 * time.Second
		}
	}
	all := Fault{What: Reject, Code: 462, On: kinds[p.Calls[0].Kind].commands[0], Nth: 1, Times: rejected}
	some := all
	some.Nth, some.Times, some.Every = rejected+1, 1e6, pick(s, 2, 3)
	p.Faults = []Fault{all, some}
}

func (s source) options() []string {
	var options []string
	for _, o := range []struct {
		one    int // in so many plans
		option string
		values []any
	}{
		{6, "retryReads", []any{false}}, {6, "retryWrites", []any{false}}, {5, "timeoutMS", []any{50, 300, 2000, 10000}},
		{6, "maxPoolSize", []any{1, 2}}, {60, "minPoolSize", []any{1}}, {12, "maxConnecting", []any{1}},
		{8, "maxIdleTimeMS", []any{1, 20}}, {5, "heartbeatFrequencyMS", []any{500, 1000, 5000}},
		{5, "serverSelectionTimeoutMS", []any{100, 1000, 5000}}, {8, "connectTimeoutMS", []any{100, 1000}},
		{6, "readPreference", []any{"secondaryPreferred", "primaryPreferred", "nearest"}}, {8, "w", []any{"majority", 1}},
		{12, "appName", []any{"app"}}, {8, "serverMonitoringMode", []any{"poll", "stream"}},
		{12, "readConcernLevel", []any{"majority"}},
		{8, "adaptiveRetries", []any{true}}, {6, "maxAdaptiveRetries", []any{0, 1, 4}},
		{12, "enableOverloadRetargeting", []any{true}},
		{6, "adaptiveThrottling", []any{true}},
	} {
		if s.chance(o.one) {
			options = append(options, fmt.Sprintf("%s=%v", o.option, pick(s, o.values...)))
		}
	}
	return options
}

// fault returns a fault that concerns one of the plan's calls.
func (s source) fault(p Plan) Fault {
	commands := kinds[pick(s, p.Calls...).Kind].commands
	f := Fault{On: pick(s, commands...), Nth: 1, Times: pick(s, 1, 1, 2, 3, 10, endless), Every: pick(s, 1, 1, 1, 2)}
	if s.chance(12) {
		f.On = pick(s, "hello", "endSessions", "killCursors")
	}
	f.What = pick(s, Error, Error, Error, Concern, Reject, Reject, Close, Close, Lose, Drop, Slow, Slow, Silent, Refusing, Closing,
		Away, Reset, Stop, StepDown)
	switch f.What {
	case Error, Concern:
		f.Code = pick[int32](s, 2, 13, 43, 91, 189, 251, 112, 11600, 11602, 10107, 13435, 262, 6, 50, 64, 100, 225, 237, 391, 11000)
	case Reject:
		f.Code = pick[int32](s, 462, 463, 461, interrupted)
	case Slow:
		f.For = s.between(1, 4000)
	}
	if f.onCommands() {
		return f
	}
	f.For, f.Host, f.Times, f.Every = s.between(1, 6000), s.IntN(2), 0, 0
	if s.chance(2) {
		f.On, f.Nth, f.At = "", 0, s.between(0, 200)
	}
	return f
}
