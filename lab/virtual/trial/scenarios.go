package trial

// scenario is what a plan may be about beside calls and faults by chance. Its texts are alternatives, of which one is drawn; "-" is none of
// them, and what is not given stays as it is.
type scenario struct {
	bare     bool // without options and authentication
	topology string
	options  string // joined by "&"
	// kind is that of so many calls that take the place of the others, or of the first call if there is no number. A way in which
	// they are made may follow after a slash.
	kind, calls, n string
	ends           string // "deadline", "cancel" or "-", after a time within these milliseconds
	within         [2]int
	batch, auth    string
	faults         []disorder
}

// disorder is what a fault may be, in the same way.
type disorder struct {
	maybe   bool   // in half of the plans
	passing bool   // retries get over it
	what    string // with the codes that it may have: "error:2,13"
	// on is a command; or the first or the last one of the first call, or any of the calls'. Without one, the fault begins at a time.
	on         string
	nth, times string // 1 if they are not given
	host       string
	at, lasts  [2]int // in milliseconds
}

const (
	someReads   = "findOne countDocuments distinct"
	transacts   = "writes/transaction writes/aborts "
	cuts        = "abort abort tear close"
	atHandshake = "close close close error:18,91,91,11600,391,6 abort tear slow lose reject:462"
	inBatches   = "error:91,64,13,11600 concern:91,64,13,11600 close lose reject:462"
)

// scenarios are all of them, each as likely as the others. The table is read only.
var scenarios = []scenario{
	// The end of transactions fails, often after the caller's deadline or cancellation.
	{kind: "writes/within writes/within " + transacts, calls: "1 2 3", n: "1 1 3", ends: "deadline cancel -", within: [2]int{1, 15},
		faults: []disorder{{what: "reject:462 reject:462 close error:462", on: "abortTransaction commitTransaction",
			times: "1 2 3"}}},
	// Commits end with something that does not tell whether they took place.
	{kind: "writes/transaction writes/within", calls: "1 2", n: "1", ends: "deadline - -", within: [2]int{12, 40}, faults: []disorder{
		{what: "slow slow lose reject:462 error:50 error:50 error:91,11600 concern:50 concern:64,91", on: "commitTransaction",
			times: "1 2", lasts: [2]int{20, 60}}}},
	// A transaction begins again, many times.
	{bare: true, topology: "replicaset:1 sharded:1", kind: "writes/within", calls: "1",
		faults: []disorder{{what: "error:112", on: "insert", times: "4 5 6 7 8 9", passing: true}}},
	// Bulk writes are interrupted in which a statement fails.
	{kind: "bulkWrite insertMany clientBulkWrite", calls: "2", n: "2 3 4", ends: "deadline", within: [2]int{1, 600},
		faults: []disorder{{what: "concern:91,11600,64", on: "first", nth: "1 2", times: "1 2"}}},
	// Writes of several documents are several commands.
	{batch: "1 2", kind: "clientBulkWriteMany clientBulkWriteMany insertMany bulkWrite", n: "1 2 3 4 4",
		faults: []disorder{{maybe: true, what: inBatches, on: "first first any", nth: "1 2 3", times: "1 2"}}},
	// Retries spend tokens, which successes return.
	{bare: true, options: "adaptiveRetries=true", kind: "findOne insertOne updateOne", calls: "8",
		faults: []disorder{
			{what: "reject:462", on: "first", times: "9"}, {what: "reject:462", on: "first", nth: "14", times: "9"},
		}},
	// An overload outlasts retries, perhaps after a write whose reply is lost.
	{bare: true, options: "- maxAdaptiveRetries=9 timeoutMS=60000",
		kind: "findOne insertOne updateOne countDocuments distinct estimatedDocumentCount writes/transaction", calls: "2 4 6",
		faults: []disorder{{maybe: true, what: "error:91 lose lose", on: "first"},
			{what: "reject:462,463", on: "first", times: "2 1000 1000"}}},
	// Calls are canceled during a backoff, or have a deadline then.
	{ends: "cancel deadline", within: [2]int{5, 500}, faults: []disorder{{what: "reject:461,462,463", on: "any", times: "1000"}}},
	// A network error, or an error that is retryable without an overload, lasts.
	{bare: true, topology: "replicaset:1 sharded:1 loadbalanced:1", kind: "findOne insertOne updateOne countDocuments", calls: "1 2 3",
		faults: []disorder{{what: "close error:91,6,11600", on: "first", times: "2 3 1000"}}},
	// The options forbid retries.
	{bare: true, topology: "replicaset:1", options: "retryReads=false retryReads=false&retryWrites=false",
		kind: "watch findOne insertOne", calls: "1", faults: []disorder{{what: "close error:91,6 reject:462", on: "first"}}},
	// One of two routers, or members, is overloaded, or fails.
	{bare: true, topology: "sharded:2", kind: "insertOne updateOne writes/aborts writes/aborts", calls: "2 3 4",
		faults: []disorder{{what: "reject:462,463 reject:462,463 error:6,262", on: "first last", times: "1000", host: "1"}}},
	{bare: true, topology: "sharded:3", kind: "insertOne findOne", calls: "2 3 4", faults: []disorder{
		{what: "reject:462", on: "first", times: "1000", host: "1"}, {what: "reject:463", on: "first", times: "1000", host: "2"}}},
	{bare: true, topology: "replicaset:2", options: "readPreference=nearest&enableOverloadRetargeting=true", kind: "findOne",
		calls: "2 3 4", faults: []disorder{{what: "reject:462,463", on: "first", times: "1000", host: "1"}}},
	// A transaction keeps its router, or its connection, after a rejection.
	{bare: true, topology: "sharded:2 loadbalanced:2", kind: transacts, calls: "1 2",
		faults: []disorder{{what: "reject:462,463", on: "update", times: "1 2", passing: true}}},
	// Cursors fail, while an overload does not let them end.
	{bare: true, kind: "find aggregate", calls: "1 2",
		faults: []disorder{{what: "error:13", on: "getMore"}, {what: "reject:462", on: "killCursors", times: "1000"}}},
	// Change streams begin again, perhaps without knowing where.
	{bare: true, topology: "replicaset:1", kind: "watch", calls: "1",
		faults: []disorder{{what: "error:6,43,91,262 error:6,43,91,262 close", on: "aggregate getMore getMore", times: "1 1 2"},
			{maybe: true, what: Lack, on: "aggregate"}}},
	{bare: true, topology: "replicaset:1", kind: "watch", calls: "1", faults: []disorder{
		{what: "error:43 close", on: "getMore", passing: true},
		{what: Lack, on: "aggregate", times: "1"}}},
	// Several services are behind a load balancer.
	{topology: "loadbalanced:2 loadbalanced:3", kind: "find findClose watch aggregate writes/transaction writes/within"},
	// Clients authenticate, which may fail, or be asked for again, and then meet an overload.
	{auth: "MONGODB-OIDC", faults: []disorder{{what: "error:391", on: "first", nth: "1 2", times: "1 1 2"},
		{maybe: true, what: "reject:462", on: "first", times: "1000"}}},
	{auth: "PLAIN MONGODB-OIDC offered offered SCRAM-SHA-256 SCRAM-SHA-256", faults: []disorder{
		{what: atHandshake, on: "saslStart saslContinue", nth: "1 2 3", times: "1 1 2", lasts: [2]int{1, 3000}}}},
	{auth: "SCRAM-SHA-256", kind: someReads, ends: "deadline", within: [2]int{500, 3000},
		faults: []disorder{{what: atHandshake, on: "saslStart saslContinue", nth: "1 2 3", times: "1000", lasts: [2]int{1, 3000}}}},
	{bare: true, auth: "SCRAM-SHA-256", kind: someReads, calls: "1 2 3",
		faults: []disorder{{what: cuts, on: "saslStart saslContinue", passing: true}}},
	// Connections break at each phase of being established.
	{faults: []disorder{{what: "breaking closing refusing", at: [2]int{0, 100}, lasts: [2]int{1, 3000}}}},
	{faults: []disorder{{what: cuts, on: "hello", nth: "1 2 3 4", times: "1 1 1 2 3"}}},
	{bare: true, topology: "loadbalanced:1", kind: "findOne updateOne distinct", calls: "2",
		faults: []disorder{{what: cuts, on: "hello", times: "2", passing: true}}},
	// The first two are the monitor's.
	{bare: true, topology: "replicaset:1", kind: "findOne updateOne distinct", calls: "2",
		faults: []disorder{{what: cuts, on: "isMaster", nth: "3", times: "2", passing: true}}},
}

// byChance are faults without a scenario.
var byChance = []disorder{
	{what: "error:" + codes + " error:" + codes + " error:" + codes + " concern:" + codes +
		" reject:462,463,461,473 reject:462,463,461,473 close close lose drop slow slow",
		on: "any any any hello endSessions killCursors", times: "1 1 2 3 10 300", lasts: [2]int{1, 4000}},
	{what: "silent refusing closing reset stop stepdown", on: "any -", at: [2]int{0, 200}, host: "0 1", lasts: [2]int{1, 6000}},
}

const codes = "2,7,13,43,89,91,134,189,251,112,11600,11602,10107,13435,262,6,50,64,100,225,237,391,9001,11000"
