package trial

// scenario is what a plan may be about beside calls and faults by chance. Its texts are alternatives, of which one is drawn; "-" is none of
// them, and what is not given stays as it is.
type scenario struct {
	// only names the scenario if rules rely on it: nothing else goes wrong then, and the calls are those that it has.
	only     string
	bare     bool // without options, authentication and monitors; so is one that has a name
	topology string
	options  string // joined by "&"
	// kind is that of workers*calls calls that take the place of the others, or of the first call if there is no number.
	kind, calls, workers string
	n, again             string
	ends                 string // "deadline", "cancel" or "-", after a time within these milliseconds
	within               [2]int
	pause                [2]int // of the first call, in milliseconds
	batch, auth          string
	monitor              string // the event that its monitor waits at
	takes, asks          [2]int // in milliseconds
	faults               []disorder
}

// disorder is what a fault may be, in the same way.
type disorder struct {
	maybe bool   // in half of the plans
	what  string // with the codes that it may have: "error:2,13"
	// on is a command; or the first or the last one of the first call's kind, or any of the calls'. Without one, the fault begins at
	// a time.
	on                string
	nth, times, every string // 1 if they are not given
	host, field       string
	at, lasts         [2]int // in milliseconds
}

// These scenarios rules rely on.
const (
	Monitored = "commands of monitors fail, or are slow"
	Refused   = "the first connections of pools are closed when clients say hello"
	OneRetry  = "one connection is closed while a client authenticates"
	OneRouter = "one of two routers, or of two members that will do, rejects commands, or fails"
	Closings  = "cursors fail, while an overload does not let them end"
	Conflicts = "a transaction begins again, many times"
)

const (
	someReads   = "findOne countDocuments distinct"
	cuts        = "abort abort tear close"
	atHandshake = "close close close error:18,91,91,11600,391,6 abort tear slow lose reject:462"
	inBatches   = "error:91,64,13,11600 concern:91,64,13,11600 close lose reject:462"
)

var commitFails = []disorder{{what: "slow slow lose reject:462 error:50 error:50 concern:50 concern:64,91", on: "commitTransaction",
	times: "1 1 2", lasts: [2]int{20, 60}}}

// scenarios are all of them, each as likely as the others. The table is read only.
var scenarios = []scenario{
	// The end of transactions fails, often after the caller's deadline or cancellation.
	{kind: "withTransaction withTransaction abortedTransaction transaction", calls: "1 2 3", n: "1 1 3", ends: "deadline cancel -",
		within: [2]int{1, 15}, faults: []disorder{{what: "reject:462 reject:462 close error:462",
			on: "abortTransaction commitTransaction", times: "1 2 3"}}},
	// Commits end with something that does not tell whether they took place, and the application ends them again.
	{kind: "transaction", calls: "1 2", again: "commit abort -", ends: "deadline -", within: [2]int{12, 40}, faults: commitFails},
	{kind: "withTransaction", calls: "1 2", again: "commit commit abort -", ends: "- - deadline", within: [2]int{12, 40},
		faults: commitFails},
	{only: Conflicts, topology: "replicaset:1 sharded:1", kind: "withTransaction", calls: "1",
		faults: []disorder{{what: "error:112", on: "insert", times: "4 5 6 7 8 9"}}},
	// Bulk writes are interrupted in which a statement fails.
	{kind: "bulkWrite insertMany clientBulkWrite", calls: "2", n: "2 3 4", ends: "deadline", within: [2]int{1, 600},
		faults: []disorder{{what: "concern:91,11600,64", on: "first", nth: "1 2", times: "1 2"}}},
	// Writes of several documents are several commands. A reply with labels tells of a statement of the batch.
	{batch: "1 2", kind: "clientBulkWriteMany clientBulkWriteMany insertMany", n: "1 2 3 4 4",
		faults: []disorder{{maybe: true, what: inBatches + " labels", on: "first first getMore", nth: "1 2 3", times: "1 2"}}},
	{batch: "1 2", kind: "bulkWrite", n: "1 2 3 4 4",
		faults: []disorder{{maybe: true, what: inBatches, on: "first any", nth: "1 2 3", times: "1 2"}}},
	// Retries spend tokens, which successes return, perhaps while attempts are held back.
	{bare: true, options: "adaptiveRetries=true adaptiveRetries=true adaptiveRetries=true&adaptiveThrottling=true",
		kind: "findOne insertOne updateOne", workers: "5", calls: "60", faults: []disorder{
			{what: "reject:462", on: "first", times: "100"},
			{what: "reject:462", on: "first", nth: "101", times: "1000000", every: "2 3"}}},
	// An overload outlasts retries, perhaps after a write whose reply is lost.
	{bare: true, options: "- maxAdaptiveRetries=9 timeoutMS=60000", kind: "findOne insertOne updateOne countDocuments transaction",
		calls: "2 3 4", faults: []disorder{{maybe: true, what: "error:91 lose lose", on: "first"},
			{what: "reject:462,463", on: "first", times: "2 1000 1000"}}},
	// Calls are cancelled during a backoff, or have a deadline then.
	{ends: "cancel deadline", within: [2]int{5, 500}, faults: []disorder{{what: "reject:461,462,463", on: "any", times: "1000"}}},
	// One of two routers, or members, is overloaded, or fails.
	{only: OneRouter, topology: "sharded:2", kind: "insertOne updateOne abortedTransaction abortedTransaction", calls: "2 3 4",
		faults: []disorder{{what: "reject:462,463 reject:462,463 error:6,262", on: "first last", times: "1000", host: "1"}}},
	{only: OneRouter, topology: "sharded:3", kind: "insertOne findOne", calls: "2 3 4", faults: []disorder{
		{what: "reject:462", on: "first", times: "1000", host: "1"}, {what: "reject:463", on: "first", times: "1000", host: "2"}}},
	{only: OneRouter, topology: "replicaset:2", options: "readPreference=nearest&enableOverloadRetargeting=true", kind: "findOne",
		calls: "2 3 4", faults: []disorder{{what: "reject:462,463", on: "first", times: "1000", host: "1"}}},
	// A transaction keeps its router, or its connection, after a rejection.
	{bare: true, topology: "sharded:2 loadbalanced:2", kind: "transaction abortedTransaction", calls: "1 2",
		faults: []disorder{{what: "reject:462,463", on: "update", times: "1 2"}}},
	{only: Closings, kind: "find aggregate", calls: "1 2", faults: []disorder{{what: "error:13", on: "getMore"},
		{what: "reject:462", on: "killCursors", times: "1000"}}},
	// Change streams begin again, perhaps without knowing where.
	{bare: true, topology: "replicaset:1", options: "- - retryReads=false", kind: "watch", calls: "1",
		faults: []disorder{{what: "error:6,43,91,262 error:6,43,91,262 close", on: "aggregate getMore getMore", times: "1 1 2"},
			{maybe: true, what: Lack, field: "cursor.postBatchResumeToken", on: "aggregate"}}},
	// Calls are in sessions of other kinds, and read from members that are tagged, or not too stale.
	{kind: "causal snapshot tailable"},
	{kind: "causal snapshot tailable", topology: "replicaset:2 replicaset:3",
		options: "readPreference=secondaryPreferred&readPreferenceTags=dc:dc2 readPreference=secondary&maxStalenessSeconds=100 " +
			"readPreference=secondary&readPreferenceTags=dc:dc2&maxStalenessSeconds=100"},
	// Connections are kept by other rules.
	{options: "minPoolSize=1 minPoolSize=2 serverMonitoringMode=poll compressors=zlib compressors=snappy,zlib w=0"},
	// Several services are behind a load balancer.
	{topology: "loadbalanced:2 loadbalanced:3", kind: "find findClose transaction watch aggregate withTransaction"},
	// Clients authenticate, which may fail, or be asked for again, and then meet an overload.
	{auth: "offered SCRAM-SHA-256 PLAIN MONGODB-OIDC"},
	{auth: OIDC, faults: []disorder{{what: "error:391", on: "first", nth: "1 2", times: "1 1 2"},
		{maybe: true, what: "reject:462", on: "first", times: "1000"}}},
	{auth: "PLAIN MONGODB-OIDC offered offered SCRAM-SHA-256 SCRAM-SHA-256", faults: []disorder{
		{what: atHandshake, on: "saslStart saslContinue", nth: "1 2 3", times: "1 1 2", lasts: [2]int{1, 3000}}}},
	{auth: Scram, kind: someReads, ends: "deadline", within: [2]int{500, 3000},
		faults: []disorder{{what: atHandshake, on: "saslStart saslContinue", nth: "1 2 3", times: "1000", lasts: [2]int{1, 3000}}}},
	{only: OneRetry, auth: Scram, monitor: "-", kind: someReads, calls: "1 2 3",
		faults: []disorder{{what: cuts, on: "saslStart saslContinue"}}},
	// Connections break at each phase of being established.
	{faults: []disorder{{what: "breaking closing refusing", at: [2]int{0, 100}, lasts: [2]int{1, 3000}}}},
	{monitor: "-", faults: []disorder{{what: cuts, on: "hello", nth: "1 2 3 4", times: "1 1 1 2 3"}}},
	{only: Refused, topology: "loadbalanced:1", monitor: "-", kind: "findOne updateOne distinct", calls: "2",
		faults: []disorder{{what: cuts, on: "hello", times: "2"}}},
	// The first two are the monitor's.
	{only: Refused, topology: "replicaset:1", monitor: "-", kind: "findOne updateOne distinct", calls: "2", pause: [2]int{5, 60},
		faults: []disorder{{what: cuts, on: "isMaster", nth: "3", times: "2"}}},
	// Monitors are slow, or run a command of their own, which may be given up while it waits.
	{monitor: "started succeeded failed", takes: [2]int{1, 30}},
	{monitor: "started succeeded failed failed", asks: [2]int{20, 1000}, faults: []disorder{
		{what: "reject:462 slow close", on: "count", times: "1000", lasts: [2]int{2000, 2000}},
		{maybe: true, what: "error:2,13,11000", on: "any"}}},
	{only: Monitored, monitor: "started succeeded failed failed", asks: [2]int{20, 1000},
		kind: "insertMany insertMany bulkWrite updateOne findOne find transaction", calls: "1 2 3", n: "4", faults: []disorder{
			{what: "reject:462 slow", on: "count", times: "1000", lasts: [2]int{2000, 2000}},
			{maybe: true, what: "error:2,13,11000", on: "any"}}},
	// Replies are large, have many labels, or lack what they must have.
	{faults: []disorder{{what: "lack lack huge labels", on: "any", times: "1 2"}}},
	{kind: "find aggregate listCollections clientBulkWrite", faults: []disorder{{what: Lack, on: "first last", times: "1 2"}}},
}

// byChance are faults without a scenario.
var byChance = []disorder{
	{what: "error:" + codes + " error:" + codes + " error:" + codes + " concern:" + codes +
		" reject:462,463,461,473 reject:462,463,461,473 close close lose drop slow slow",
		on: "any any any hello endSessions killCursors", times: "1 1 2 3 10 300", every: "1 1 1 2", lasts: [2]int{1, 4000}},
	{what: "silent refusing closing away reset stop stepdown", on: "any", host: "0 1", lasts: [2]int{1, 6000}},
	{what: "silent refusing closing away reset stop stepdown", at: [2]int{0, 200}, host: "0 1", lasts: [2]int{1, 6000}},
}

const codes = "2,7,13,43,89,91,134,189,251,112,11600,11602,10107,13435,262,6,50,64,100,225,237,391,9001,11000"
