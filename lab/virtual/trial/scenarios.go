package trial

// onAnything is a fault of one of the commands that come.
func onAnything(b *builder) {
	codes := []int32{2, 7, 13, 43, 89, 91, 134, 189, 251, 112, 11600, 11602, 10107, 13435, 262, 6, 50, 64, 100, 225, 237, 391, 9001,
		11000}
	rejects := rejected(462, 463, 461, interrupted)
	what := pick(b, fails(codes...), fails(codes...), fails(codes...), hasConcern(codes...), rejects, rejects,
		plain(Close), plain(Close), plain(Lose), plain(Drop), plain(Slow), plain(Slow))
	on := pick(b, onAny, onAny, onAny, on("hello"), on("endSessions"), on("killCursors"))
	b.fault(what, on, Fault{Times: pick(b, 1, 1, 2, 3, 10, 300)}, 1, 4000)
}

// ofServers is a fault of servers or the network.
func ofServers(b *builder) {
	what := pick(b, plain(Silent), plain(Refusing), plain(Closing), plain(Reset), plain(Stop), plain(StepDown))
	b.fault(what, pick(b, onAny, atATime), Fault{Host: pick(b, 0, 1), At: b.between(0, 200)}, 1, 6000)
}

// cut draws how a connection is cut.
func (b *builder) cut() mishap { return pick(b, plain(Abort), plain(Abort), plain(Tear), plain(Close)) }

// handshaking draws what a handshake may meet.
func (b *builder) handshaking() mishap {
	return pick(b, plain(Close), plain(Close), plain(Close), fails(18, 91, 91, 11600, 391, 6), plain(Abort), plain(Tear), plain(Slow),
		plain(Lose), rejected(462))
}

// onLogin draws a command of an authentication.
func (b *builder) onLogin() where { return pick(b, on("saslStart"), on("saslContinue")) }

// scenario is what a plan may be about.
type scenario struct {
	begin      func(*builder)
	topologies string // one of these, or the plan's own
	about      func(*builder)
}

func keeps(*builder) {}

// scenarios are what a plan may be about beside calls and faults by chance, each as likely as the others. The table is read only.
var scenarios = []scenario{
	// The end of transactions fails, often after the caller's deadline or cancellation.
	{(*builder).calm, "", func(b *builder) {
		b.replace(pick(b, writes("within", "within", "transaction", "aborts")...), pick(b, 1, 2, 3))
		b.sizes(1, 1, 3)
		b.ends(1, 15, deadline, cancel, never)
		b.fault(pick(b, rejected(462), rejected(462), plain(Close), fails(462)),
			pick(b, on("abortTransaction"), on("commitTransaction")), Fault{Times: pick(b, 1, 2, 3)})
	}},
	// Commits end with something that does not tell whether they took place.
	{(*builder).calm, "", func(b *builder) {
		b.replace(pick(b, writes("transaction", "within")...), pick(b, 1, 2))
		b.ends(12, 40, deadline, never, never)
		b.fault(pick(b, plain(Slow), plain(Slow), plain(Lose), rejected(462), fails(50), fails(50), fails(91, 11600),
			hasConcern(50), hasConcern(64, 91)), on("commitTransaction"), Fault{Times: pick(b, 1, 2)}, 20, 60)
	}},
	// A transaction begins again, many times.
	{(*builder).bare, "replicaset:1 sharded:1", func(b *builder) {
		b.replace(Call{Kind: "writes", Way: "within"}, 1)
		b.fault(fails(112), on("insert"), Fault{Times: pick(b, 4, 5, 6, 7, 8, 9), Passing: true})
	}},
	// Bulk writes are interrupted in which a statement fails.
	{(*builder).calm, "", func(b *builder) {
		b.replace(pick(b, of("bulkWrite", "insertMany", "clientBulkWrite")...), 2)
		b.sizes(2, 3, 4)
		b.ends(1, 600, deadline)
		b.fault(hasConcern(91, 11600, 64), onFirst, Fault{Nth: pick(b, 1, 2), Times: pick(b, 1, 2)})
	}},
	// Writes of several documents are several commands.
	{(*builder).calm, "", func(b *builder) {
		b.first(pick(b, of("clientBulkWriteMany", "clientBulkWriteMany", "insertMany", "bulkWrite")...))
		b.sizes(1, 2, 3, 4, 4)
		b.Batch = pick(b, 1, 2)
		if b.chance(2) {
			codes := []int32{91, 64, 13, 11600}
			b.fault(pick(b, fails(codes...), hasConcern(codes...), plain(Close), plain(Lose), rejected(462)),
				pick(b, onFirst, onFirst, onAny), Fault{Nth: pick(b, 1, 2, 3), Times: pick(b, 1, 2)})
		}
	}},
	// Retries spend tokens, which successes return.
	{(*builder).bare, "", func(b *builder) {
		b.set("adaptiveRetries=true")
		b.replace(pick(b, of("findOne", "insertOne", "updateOne")...), 8)
		b.fault(rejected(462), onFirst, Fault{Times: 9})
		b.fault(rejected(462), onFirst, Fault{Nth: 14, Times: 9})
	}},
	// An overload outlasts retries, perhaps after a write whose reply is lost.
	{(*builder).bare, "", func(b *builder) {
		b.set("", "maxAdaptiveRetries=9", "timeoutMS=60000")
		calls := of("findOne", "insertOne", "updateOne", "countDocuments", "distinct", "estimatedDocumentCount")
		b.replace(pick(b, append(calls, writes("transaction")...)...), pick(b, 2, 4, 6))
		if b.chance(2) {
			b.fault(pick(b, fails(91), plain(Lose), plain(Lose)), onFirst, Fault{})
		}
		b.fault(rejected(462, 463), onFirst, Fault{Times: pick(b, 2, 1000, 1000)})
	}},
	// Calls are canceled during a backoff, or have a deadline then.
	{(*builder).calm, "", func(b *builder) {
		b.ends(5, 500, cancel, deadline)
		b.fault(rejected(461, 462, 463), onAny, Fault{Times: 1000})
	}},
	// A network error, or an error that is retryable without an overload, lasts.
	{(*builder).bare, "replicaset:1 sharded:1 loadbalanced:1", func(b *builder) {
		b.replace(pick(b, of("findOne", "insertOne", "updateOne", "countDocuments")...), pick(b, 1, 2, 3))
		b.fault(pick(b, plain(Close), fails(91, 6, 11600)), onFirst, Fault{Times: pick(b, 2, 3, 1000)})
	}},
	// The options forbid retries.
	{(*builder).bare, "replicaset:1", func(b *builder) {
		b.set("retryReads=false", "retryReads=false&retryWrites=false")
		b.replace(pick(b, of("watch", "findOne", "insertOne")...), 1)
		b.fault(pick(b, plain(Close), fails(91, 6), rejected(462)), onFirst, Fault{})
	}},
	// One of two routers, or members, is overloaded, or fails.
	{(*builder).bare, "sharded:2", func(b *builder) {
		b.replace(pick(b, append(of("insertOne", "updateOne"), writes("aborts", "aborts")...)...), pick(b, 2, 3, 4))
		b.fault(pick(b, rejected(462, 463), rejected(462, 463), fails(6, 262)), pick(b, onFirst, onLast),
			Fault{Times: 1000, Host: 1})
	}},
	{(*builder).bare, "sharded:3", func(b *builder) {
		b.replace(pick(b, of("insertOne", "findOne")...), pick(b, 2, 3, 4))
		b.fault(rejected(462), onFirst, Fault{Times: 1000, Host: 1})
		b.fault(rejected(463), onFirst, Fault{Times: 1000, Host: 2})
	}},
	{(*builder).bare, "replicaset:2", func(b *builder) {
		b.set("readPreference=nearest&enableOverloadRetargeting=true")
		b.replace(Call{Kind: "findOne"}, pick(b, 2, 3, 4))
		b.fault(rejected(462, 463), onFirst, Fault{Times: 1000, Host: 1})
	}},
	// A transaction keeps its router, or its connection, after a rejection.
	{(*builder).bare, "sharded:2 loadbalanced:2", func(b *builder) {
		b.replace(pick(b, writes("transaction", "aborts")...), pick(b, 1, 2))
		b.fault(rejected(462, 463), on("update"), Fault{Times: pick(b, 1, 2), Passing: true})
	}},
	// Cursors fail, while an overload does not let them end.
	{(*builder).bare, "", func(b *builder) {
		b.replace(pick(b, of("find", "aggregate")...), pick(b, 1, 2))
		b.fault(fails(13), on("getMore"), Fault{})
		b.fault(rejected(462), on("killCursors"), Fault{Times: 1000})
	}},
	// Change streams begin again, perhaps without knowing where.
	{(*builder).bare, "replicaset:1", func(b *builder) {
		b.replace(Call{Kind: "watch"}, 1)
		b.fault(pick(b, fails(6, 43, 91, 262), fails(6, 43, 91, 262), plain(Close)),
			pick(b, on("aggregate"), on("getMore"), on("getMore")), Fault{Times: pick(b, 1, 1, 2)})
		if b.chance(2) {
			b.fault(plain(Lack), on("aggregate"), Fault{})
		}
	}},
	{(*builder).bare, "replicaset:1", func(b *builder) {
		b.replace(Call{Kind: "watch"}, 1)
		b.fault(pick(b, fails(43), plain(Close)), on("getMore"), Fault{Passing: true})
		b.fault(plain(Lack), on("aggregate"), Fault{})
	}},
	// Several services are behind a load balancer. What goes wrong by chance stays.
	{keeps, "loadbalanced:2 loadbalanced:3", func(b *builder) {
		b.first(pick(b, append(of("find", "findClose", "watch", "aggregate"), writes("transaction", "within")...)...))
	}},
	// Clients authenticate, which may fail, or be asked for again, and then meet an overload.
	{(*builder).calm, "", func(b *builder) {
		b.Auth = "MONGODB-OIDC"
		b.fault(fails(391), onFirst, Fault{Nth: pick(b, 1, 2), Times: pick(b, 1, 1, 2)})
		if b.chance(2) {
			b.fault(rejected(462), onFirst, Fault{Times: 1000})
		}
	}},
	{(*builder).calm, "", func(b *builder) {
		b.Auth = pick(b, "PLAIN", "MONGODB-OIDC", "offered", "offered", "SCRAM-SHA-256", "SCRAM-SHA-256")
		b.fault(b.handshaking(), b.onLogin(), Fault{Nth: pick(b, 1, 2, 3), Times: pick(b, 1, 1, 2)}, 1, 3000)
	}},
	{(*builder).calm, "", func(b *builder) {
		b.first(pick(b, of("findOne", "countDocuments", "distinct")...))
		b.ends(500, 3000, deadline)
		b.Auth = "SCRAM-SHA-256"
		b.fault(b.handshaking(), b.onLogin(), Fault{Nth: pick(b, 1, 2, 3), Times: 1000}, 1, 3000)
	}},
	{(*builder).bare, "", func(b *builder) {
		b.replace(pick(b, of("findOne", "countDocuments", "distinct")...), pick(b, 1, 2, 3))
		b.Auth = "SCRAM-SHA-256"
		b.fault(b.cut(), b.onLogin(), Fault{Passing: true})
	}},
	// Connections break at each phase of being established.
	{(*builder).calm, "", func(b *builder) {
		b.fault(pick(b, plain(Breaking), plain(Closing), plain(Refusing)), atATime, Fault{At: b.between(0, 100)}, 1, 3000)
	}},
	{(*builder).calm, "", func(b *builder) {
		b.fault(b.cut(), on("hello"), Fault{Nth: pick(b, 1, 2, 3, 4), Times: pick(b, 1, 1, 1, 2, 3)})
	}},
	{(*builder).bare, "loadbalanced:1", func(b *builder) {
		b.replace(pick(b, of("findOne", "updateOne", "distinct")...), 2)
		b.fault(b.cut(), on("hello"), Fault{Times: 2, Passing: true})
	}},
	{(*builder).bare, "replicaset:1", func(b *builder) {
		b.replace(pick(b, of("findOne", "updateOne", "distinct")...), 2)
		b.fault(b.cut(), on("isMaster"), Fault{Nth: 3, Times: 2, Passing: true}) // the first two are the monitor's
	}},
}
