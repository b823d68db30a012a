package trial

import (
	"slices"
	"strings"
	"time"
)

// features gives a plan what most have not: one of these, or two.
func (s source) features(p *Plan) {
	for range pick(s, 1, 1, 2) {
		pick(s, source.credentials, source.credentials, source.monitors, source.monitors, source.commits, source.commits,
			source.sessions, source.batches, source.connections, source.lasting, source.routers, source.conflicts,
			source.establishment, source.givenUp, source.services, source.replies, source.replies, source.streams,
			source.closings)(s, p)
	}
}

// option sets an option of the connection string.
func (p *Plan) option(option string) {
	name, _, _ := strings.Cut(option, "=")
	p.Options = append(slices.DeleteFunc(p.Options, func(o string) bool { return strings.HasPrefix(o, name+"=") }), option)
}

// one makes one of the calls one of a kind, and returns the first command of that.
func (s source) one(p *Plan, names ...string) string {
	name := pick(s, names...)
	if kinds[name].set && p.Topology == "standalone" {
		p.Topology = "replicaset:1"
	}
	p.Calls[0].Kind = name
	return kinds[name].commands[0]
}

// command is one that the plan's calls send.
func (s source) command(p *Plan) string { return pick(s, kinds[pick(s, p.Calls...).Kind].commands...) }

// credentials make clients authenticate, which may fail, or be asked for again.
func (s source) credentials(p *Plan) {
	p.Auth = Auth{Mechanism: pick(s, Offered, Scram, Scram, Plain, OIDC, OIDC), Speculative: s.chance(2), Exchange: s.chance(4)}
	start := "saslStart"
	if p.Auth.Mechanism == Offered || p.Auth.Mechanism == Scram {
		start = pick(s, "saslStart", "saslContinue")
	}
	if p.Auth.Mechanism == OIDC && s.chance(2) {
		on := s.command(p)
		p.Faults = []Fault{{What: Error, Code: 391, On: on, Nth: 1 + s.IntN(2), Times: pick(s, 1, 1, 2)}}
		if s.chance(2) { // and then an overload
			p.Faults = append(p.Faults, Fault{What: Reject, Code: 462, On: on, Nth: 1, Times: 1000})
		}
		return
	}
	if s.chance(2) {
		p.Faults = []Fault{s.atHandshake(start)}
		if p.Faults[0].Times == 1000 {
			s.one(p, "findOne", "countDocuments", "distinct")
			p.Calls[0].Deadline = s.between(500, 3000)
		}
	}
}

// atHandshake is a fault while a connection is established.
func (s source) atHandshake(on string) Fault {
	f := Fault{What: pick(s, Close, Close, Close, Error, Error, Abort, Tear, Slow, Lose, Reject), On: on, Nth: 1 + s.IntN(3),
		Times: pick(s, 1, 1, 2, 1000)}
	switch f.What {
	case Error:
		f.Code = pick[int32](s, 18, 91, 91, 11600, 391, 6)
	case Reject:
		f.Code = 462
	case Slow:
		f.For = s.between(1, 3000)
	}
	return f
}

// establishment breaks connections at each phase of being established.
func (s source) establishment(p *Plan) {
	phase := pick(s, "dial", "hello", "hello", "saslStart", "saslContinue")
	if phase == "dial" {
		p.Faults = []Fault{{What: pick(s, Breaking, Closing, Refusing), At: s.between(0, 100), For: s.between(1, 3000)}}
		return
	}
	p.Monitor.Yields = s.chance(2)
	if phase != "hello" && p.Auth.Mechanism == "" {
		p.Auth = Auth{Mechanism: Scram}
	}
	p.Faults = []Fault{{What: pick(s, Abort, Abort, Tear, Close), On: phase, Nth: 1 + s.IntN(4), Times: pick(s, 1, 1, 1, 2, 3)}}
	if phase == "hello" { // of pools only, mostly
		proxy := s.chance(2)
		if !proxy && s.chance(4) {
			return
		}
		s.calls(p, 1, 2, pick(s, "findOne", "updateOne", "distinct"))
		p.Topology, p.Options, p.Faults[0].Nth, p.Faults[0].Times = "loadbalanced:1", nil, 1, 2
		switch n := s.IntN(3); {
		case n == 0 || !proxy: // the first two are the monitor's
			p.Topology, p.Faults[0].On, p.Faults[0].Nth = "replicaset:1", "isMaster", 3
			p.Calls[0].Pause += 5 * time.Millisecond
		case n == 1:
			p.Faults[0], p.Calls[0].Pause = Fault{What: pick(s, Breaking, Closing, Refusing), For: refusal}, time.Millisecond
		}
		return
	}
	if s.chance(2) { // nothing else goes wrong, so that one retry is enough
		s.calls(p, 1, 1+s.IntN(3), pick(s, "findOne", "countDocuments", "distinct"))
		p.Options, p.Faults[0].Nth, p.Faults[0].Times = nil, 1, 1
	}
}

// monitors make monitors slow, or run a command of their own, which may be given up while it waits.
func (s source) monitors(p *Plan) {
	p.Monitor = Monitor{On: pick(s, "started", "succeeded", "failed", "failed"), Takes: pick(s, 0, 0, s.between(1, 30)),
		Yields: s.chance(2)}
	if s.chance(4) {
		return
	}
	p.Monitor.Asks = s.between(20, 1000)
	if s.chance(2) {
		p.Calls[0].Kind, p.Calls[0].N = pick(s, "insertMany", "bulkWrite", "updateOne"), 4
	}
	slow := pick(s, Fault{What: Reject, Code: 462}, Fault{What: Reject, Code: 462}, Fault{What: Slow, For: 2 * time.Second},
		Fault{What: Close})
	slow.On, slow.Nth, slow.Times = "count", 1, 1000
	p.Faults = []Fault{slow}
	if s.chance(2) {
		p.Faults = append(p.Faults, Fault{What: Error, Code: pick[int32](s, 2, 13, 11000), On: s.command(p), Nth: 1, Times: 1})
	}
}

// commits make commits end with something that does not tell whether they took place, and let the application end them again.
func (s source) commits(p *Plan) {
	if p.Topology == "standalone" {
		p.Topology = "replicaset:1"
	}
	s.calls(p, 1, 1+s.IntN(2), pick(s, "transaction", "transaction", "withTransaction"))
	for i := range p.Calls {
		p.Calls[i].Again = pick(s, "commit", "commit", "abort", "")
		if s.chance(2) {
			p.Calls[i].Deadline = s.between(12, 40)
		}
	}
	p.Faults = []Fault{pick(s,
		Fault{What: Slow, For: s.between(20, 60)}, Fault{What: Slow, For: s.between(20, 60)}, Fault{What: Lose},
		Fault{What: Reject, Code: 462},
		Fault{What: Error, Code: 50}, Fault{What: Error, Code: 50}, Fault{What: Concern, Code: 50},
		Fault{What: Concern, Code: pick[int32](s, 64, 91)})}
	p.Faults[0].On, p.Faults[0].Nth, p.Faults[0].Times = "commitTransaction", 1, pick(s, 1, 1, 2)
}

// sessions adds calls in sessions of other kinds, and reads from members that are tagged, or not too stale.
func (s source) sessions(p *Plan) {
	s.one(p, "causal", "snapshot", "tailable")
	if s.chance(2) {
		p.Topology = pick(s, "replicaset:2", "replicaset:3")
		p.option("readPreference=" + pick(s, "secondaryPreferred", "secondary") +
			pick(s, "&maxStalenessSeconds=100", "&readPreferenceTags=dc:dc2",
				"&readPreferenceTags=dc:dc2&maxStalenessSeconds=100"))
	}
}

// batches make writes of several documents several commands.
func (s source) batches(p *Plan) {
	p.Batch = 1 + s.IntN(2)
	on := s.one(p, "clientBulkWriteMany", "clientBulkWriteMany", "insertMany", "bulkWrite")
	p.Calls[0].N = pick(s, p.Calls[0].N, 4) // of which two are the same
	if s.chance(2) {
		p.Faults = []Fault{{What: pick(s, Error, Concern, Close, Lose, Reject), Code: 462, On: pick(s, on, on, "getMore"),
			Nth: 1 + s.IntN(3), Times: pick(s, 1, 2)}}
		if s.chance(4) && on != "bulkWrite" { // which tells of a statement of the batch
			p.Faults[0].What = Labels
		}
		if f := &p.Faults[0]; f.What != Reject {
			f.Code = pick[int32](s, 91, 64, 13, 11600)
		}
	}
}

// connections are kept by other rules.
func (s source) connections(p *Plan) {
	p.option(pick(s, "minPoolSize=1", "minPoolSize=2", "serverMonitoringMode=poll", "compressors=zlib", "compressors=snappy,zlib",
		"w=0"))
	for i, c := range p.Calls {
		if p.Has("w=0") && c.Kind == "aggregateOut" { // with which upstream panics
			p.Calls[i].Kind = "aggregate"
		}
	}
}

// givenUp cancels calls during a backoff, or gives them a deadline then.
func (s source) givenUp(p *Plan) {
	on := s.command(p)
	for i := range p.Calls {
		p.Calls[i].Deadline, p.Calls[i].Cancel = 0, s.between(5, 500)
		if s.chance(2) {
			p.Calls[i].Deadline, p.Calls[i].Cancel = p.Calls[i].Cancel, 0
		}
	}
	p.Faults = []Fault{{What: Reject, Code: pick[int32](s, 462, 461, 463), On: on, Nth: 1, Times: 1000}}
}

// lasting makes an overload outlast retries, perhaps after a write whose reply is lost.
func (s source) lasting(p *Plan) {
	s.calls(p, 1, 2+s.IntN(3), pick(s, "findOne", "insertOne", "updateOne", "updateOne", "countDocuments", "transaction"))
	if p.Topology == "standalone" {
		p.Topology = "replicaset:1"
	}
	p.Options = slices.DeleteFunc(p.Options, func(o string) bool { return !strings.HasPrefix(o, "maxPoolSize") })
	reject := Fault{What: Reject, Code: pick[int32](s, 462, 463), On: kinds[p.Calls[0].Kind].commands[0], Nth: 1,
		Times: pick(s, 2, 1000, 1000)}
	p.Faults = []Fault{reject}
	switch s.IntN(3) {
	case 0:
		p.option("timeoutMS=60000")
		if s.chance(3) {
			p.Faults = slices.Insert(p.Faults, 0, Fault{What: Error, Code: 91, On: reject.On, Nth: 1, Times: 1})
		}
	case 1:
		p.Faults = slices.Insert(p.Faults, 0, Fault{What: Lose, On: reject.On, Nth: 1, Times: 1})
	}
}

// routers are two, of which one is overloaded, or fails.
func (s source) routers(p *Plan) {
	kind := pick(s, "findOne", "insertOne", "updateOne", "abortedTransaction", "abortedTransaction")
	s.calls(p, 1, 2+s.IntN(3), kind)
	commands := kinds[kind].commands
	f := Fault{What: Reject, Code: pick[int32](s, 462, 463), On: pick(s, commands[0], commands[len(commands)-1]), Nth: 1,
		Times: 1000, Host: 1}
	if s.chance(3) {
		f.What, f.Code = Error, pick[int32](s, 6, 262)
	}
	p.Topology, p.Options, p.Faults = "sharded:2", nil, []Fault{f}
	if kind == "findOne" && f.What == Reject {
		p.Topology, p.Options = "replicaset:2", []string{"readPreference=nearest", "enableOverloadRetargeting=true"}
	}
}

// streams are change streams that begin again, perhaps without knowing where.
func (s source) streams(p *Plan) {
	p.Topology, p.Options = "replicaset:1", pick(s, nil, nil, []string{"retryReads=false"})
	s.calls(p, 1, 1, "watch")
	fails := Fault{What: pick(s, Error, Error, Close), Code: pick[int32](s, 6, 43, 91, 262), On: pick(s, "aggregate", "getMore"),
		Nth: 1, Times: pick(s, 1, 1, 2)}
	p.Faults = []Fault{fails}
	if fails.On == "getMore" && s.chance(2) {
		p.Faults = append(p.Faults, Fault{What: Lack, Field: "cursor.postBatchResumeToken", On: "aggregate", Nth: 1, Times: 1})
	}
}

// closings are of cursors that fail, while an overload does not let them end.
func (s source) closings(p *Plan) {
	s.calls(p, 1, 1+s.IntN(2), pick(s, "find", "aggregate"))
	p.Options = nil
	p.Faults = []Fault{{What: Error, Code: 13, On: "getMore", Nth: 1, Times: 1},
		{What: Reject, Code: 462, On: "killCursors", Nth: 1, Times: 1000}}
}

// conflicts make a transaction begin again, many times.
func (s source) conflicts(p *Plan) {
	p.Topology, p.Options = pick(s, "replicaset:1", "sharded:1"), nil
	s.calls(p, 1, 1, "withTransaction")
	p.Faults = []Fault{{What: Error, Code: 112, On: "insert", Nth: 1, Times: 4 + s.IntN(6)}}
}

// services are several behind a load balancer.
func (s source) services(p *Plan) {
	p.Topology = pick(s, "loadbalanced:2", "loadbalanced:3")
	s.one(p, "find", "findClose", "transaction", "watch", "aggregate", "withTransaction")
}

// fields are those that replies must have, by the command.
var fields = map[string][]string{
	"find":            {"cursor", "cursor.firstBatch", "cursor.firstBatch", "cursor.id", "cursor.ns"},
	"aggregate":       {"cursor", "cursor.firstBatch", "cursor.firstBatch", "cursor.id"},
	"listCollections": {"cursor", "cursor.firstBatch", "cursor.id"}, "listIndexes": {"cursor", "cursor.firstBatch", "cursor.id"},
	"getMore": {"cursor", "cursor.nextBatch", "cursor.id"}, "insert": {"n", "ok"}, "update": {"n", "nModified"}, "delete": {"n"},
	"findAndModify": {"value", "lastErrorObject"}, "count": {"n"}, "distinct": {"values"}, "listDatabases": {"databases"},
	"bulkWrite": {"cursor", "cursor.firstBatch", "cursor.id", "nInserted"}, "commitTransaction": {"ok"}, "abortTransaction": {"ok"},
}

// replies are large, have many labels, or lack what they must have.
func (s source) replies(p *Plan) {
	f := Fault{What: pick(s, Lack, Lack, Huge, Labels), On: s.command(p), Nth: 1, Times: pick(s, 1, 2)}
	if f.What == Lack {
		f.Field = pick(s, append(slices.Clone(fields[f.On]), "ok", "$clusterTime", "operationTime")...)
	}
	p.Faults = append(p.Faults[:min(1, len(p.Faults))], f)
	slices.Reverse(p.Faults)
}
