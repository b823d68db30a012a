package trial

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The lines of the table below, without their time.
const (
	asks, waits = `pool a: ConnectionCheckOutStarted  0s `, `log "Server selection started" operation: insert`
	commits     = `event started commitTransaction of call 1 withTransaction`
	inserts0    = `event started insert of call 1 withTransaction`
)

// labelled is the fork's event of a connection that is not established.
const labelled = `pool a: ConnectionCheckOutFailed connectionError 1ms E "during connection handshake" network, ` +
	`SystemOverloadedError, RetryableError`

// handshakeFails is what upstream then shows. The table is read only.
var handshakeFails = append(ended("1 find", `E "during connection handshake"`, "network"),
	`pool a: ConnectionCheckOutFailed connectionError 1ms E "during connection handshake" network`)

// clearedAtEnd is the error of a cursor, as both drivers have it.
const clearedAtEnd = `call 1 tailable error *errors.joinError "connection pool for a was cleared because another operation failed with: x"`

// oneOf is a plan whose only call is of a kind.
func oneOf(kind string, options ...string) Plan {
	return Plan{Options: options, Calls: []Call{{ID: 1, Kind: kind}}}
}

// in is a plan in a topology.
func in(topology string, p Plan) Plan {
	p.Topology = topology
	return p
}

// ended returns the lines of a call's end.
func ended(call, err, is string, more ...string) []string {
	lines := []string{fmt.Sprintf("call %s error %s", call, err), fmt.Sprintf("call %s is %s", call, is)}
	for _, line := range more {
		lines = append(lines, "call "+call+" "+line)
	}
	return lines
}

func with(lines []string, more ...string) []string { return slices.Concat(lines, more) }

// example is an instant: what only one of the drivers shows, and what comes later.
type example struct {
	row, name string
	plan      Plan
	at        time.Duration
	up, fork  []string
	both      []string // lines that both have
	laterUp   []string // what follows
	laterFork []string
	not       bool
}

// instant returns it. The calls of its plan are under way, each in the worker of its place.
func (e example) instant() Instant {
	all := slices.Concat(e.up, e.fork, e.both)
	i := Instant{Plan: e.plan, At: e.at, Upstream: e.up, Fork: e.fork, All: all, Before: all, Under: map[int]Call{},
		UpstreamOn: slices.Concat(e.up, e.both, e.laterUp), ForkOn: slices.Concat(e.fork, e.both, e.laterFork)}
	for n, c := range e.plan.Calls {
		i.Under[n] = c
	}
	return i
}

// reasons has, for each difference, instants that it explains, and those like them that nothing explains.
var reasons = []example{
	{row: "a new pool", name: "minPoolSize", plan: Plan{Options: []string{"minPoolSize=1"}},
		up: []string{"pool a: ConnectionCreated  0s "}},
	{not: true, name: "without minPoolSize", up: []string{"pool a: ConnectionCreated  0s "}},
	{not: true, name: "in the fork", plan: Plan{Options: []string{"minPoolSize=1"}}, fork: []string{"pool a: ConnectionCreated  0s "}},
	{not: true, name: "later", at: 1, plan: Plan{Options: []string{"minPoolSize=1"}}, up: []string{"pool a: ConnectionCreated  0s "}},

	{
		row: "the deadline passes, or the context is cancelled, before a retry is sent", name: "the context's error",
		up:   with(ended("1 insertOne", `T "x"`, "RetryableWriteError"), asks),
		fork: ended("1 insertOne", `T "x: no time for a retry: y"`, "timeout, RetryableWriteError"),
	},
	{row: "the deadline passes, or the context is cancelled, before a retry is sent", name: "of a type that wraps",
		up: ended("1 insertOne", `T "x"`, ""), fork: ended("1 insertOne", `backpressure.Interruption "x: no time for a retry: y"`,
			"context canceled")},
	{
		row: "the deadline passes, or the context is cancelled, before a retry is sent", name: "upstream's connection without time",
		up:   with(ended("1 insertOne", `T "x"`, ""), asks, "pool a: ConnectionCreated  0s "),
		fork: ended("1 insertOne", `T "x: no time for a retry: y"`, "timeout"),
	},
	{not: true, name: "of another type", up: ended("1 insertOne", `T "x"`, ""),
		fork: ended("1 insertOne", `U "x: no time for a retry: y"`, "context canceled")},
	{not: true, name: "another error", up: ended("1 insertOne", `T "z"`, ""),
		fork: ended("1 insertOne", `T "x: no time for a retry: y"`, "timeout")},
	{not: true, name: "of another call", up: ended("2 insertOne", `T "x"`, ""),
		fork: ended("1 insertOne", `T "x: no time for a retry: y"`, "timeout")},
	{not: true, name: "a label is lost", up: ended("1 insertOne", `T "x"`, "RetryableWriteError"),
		fork: ended("1 insertOne", `T "x: no time for a retry: y"`, "timeout")},
	{not: true, name: "a label is new", up: ended("1 insertOne", `T "x"`, ""),
		fork: ended("1 insertOne", `T "x: no time for a retry: y"`, "timeout, NoWritesPerformed")},
	{not: true, name: "a command", up: ended("1 insertOne", `T "x"`, ""),
		fork: with(ended("1 insertOne", `T "x: no time for a retry: y"`, "timeout"), "server a sees ping")},
	{not: true, name: "a connection", up: ended("1 insertOne", `T "x"`, ""),
		fork: with(ended("1 insertOne", `T "x: no time for a retry: y"`, "timeout"), "pool a: ConnectionCreated")},
	{not: true, name: "details are lost", up: ended("1 insertOne", `T "x"`, "", "detail write 91"),
		fork: ended("1 insertOne", `T "x: no time for a retry: y"`, "timeout", "detail write 64")},
	{not: true, name: "a success", up: ended("1 insertOne", `T "x"`, "", "returns <nil>, an error"),
		fork: []string{"call 1 insertOne returns {}, no error"}},
	{not: true, name: "an opening handshake, with timeoutMS", plan: Plan{Options: []string{"timeoutMS=50"}},
		fork: []string{"server a sees hello: 1", "pool a: ConnectionCreated"}},

	{
		row: "an interrupted write of many documents", name: "bulkWrite",
		up: ended("1 bulkWrite", `E "x"`, "timeout", "returns &{UpsertedCount:1 Acknowledged:false}, an error"),
		fork: ended("1 bulkWrite", `E "y: no time for a retry: x"`, "timeout",
			"returns &{UpsertedCount:1 Acknowledged:true}, an error"),
	},
	{
		not: true, name: "bulkWrite, not acknowledged",
		up: ended("1 bulkWrite", `E "x"`, "timeout", "returns &{UpsertedCount:1 Acknowledged:true}, an error"),
		fork: ended("1 bulkWrite", `E "y: no time for a retry: x"`, "timeout",
			"returns &{UpsertedCount:1 Acknowledged:false}, an error"),
	},
	{
		row: "an interrupted write of many documents", name: "clientBulkWrite",
		up: ended("1 clientBulkWrite", `driver.WriteCommandError "write command error: [{write errors: []}, {x}]"`,
			"RetryableWriteError", "detail"),
		fork: ended("1 clientBulkWrite",
			`backpressure.Interruption "bulk write exception: write concern errors: [x]: no time for a retry: y"`, "timeout",
			"detail client bulk"),
	},
	{
		not: true, name: "clientBulkWrite without the reason",
		up: ended("1 clientBulkWrite", `driver.WriteCommandError "write command error: [{write errors: []}, {x}]"`,
			"RetryableWriteError", "detail"),
		fork: ended("1 clientBulkWrite", `mongo.ClientBulkWriteException "bulk write exception: write concern errors: [x]"`,
			"timeout", "detail client bulk"),
	},

	{
		row:  "the deadline passes, or the context is cancelled, before a retry is sent",
		name: "a change stream's attempt without time",
		up: with(ended("1 watch", `E "context canceled"`, "context canceled"), "event started aggregate of call 1 watch",
			`event failed aggregate after 0s: E "context canceled" context canceled`, "pool a: ConnectionCheckedOut"),
		fork: ended("1 watch", `mongo.CommandError "x: context canceled"`, "context canceled"),
	},
	{
		not: true, name: "a change stream's attempt that fails otherwise",
		up: with(ended("1 watch", `E "EOF"`, ""), "event started aggregate of call 1 watch",
			`event failed aggregate after 0s: E "EOF"`),
		fork: ended("1 watch", `mongo.CommandError "EOF"`, ""),
	},
	{
		row: "no server or connection for a retry", name: "a change stream's",
		up:   ended("1 watch", `topology.ServerSelectionError "x"`, "timeout", "detail"),
		fork: ended("1 watch", `mongo.CommandError "y"`, "", `detail command 91`),
	},
	{
		not: true, name: "a find's", up: ended("2 find", `topology.ServerSelectionError "x"`, "", "detail"),
		fork: ended("2 find", `mongo.CommandError "y"`, "", "detail command 91"),
	},
	{
		row: "change streams, `retryReads=false` under a timeout", name: "only upstream retries",
		plan: Plan{Options: []string{"retryReads=false", "timeoutMS=300"}},
		up:   []string{asks, "event started aggregate of call 1 watch"},
		fork: ended("1 watch", `E "x"`, "", "returns <nil>, an error"),
	},
	{
		not: true, name: "the fork's succeeds", plan: Plan{Options: []string{"retryReads=false", "timeoutMS=300"}},
		up: []string{asks}, fork: []string{"call 1 watch returns 1, no error"},
	},
	{
		not: true, name: "without a timeout", plan: Plan{Options: []string{"retryReads=false"}},
		up: []string{asks, "event started aggregate of call 1 watch"}, fork: ended("1 watch", `E "x"`, ""),
	},
	{
		not: true, name: "the fork retries", plan: Plan{Options: []string{"retryReads=false", "timeoutMS=300"}},
		fork: []string{asks, "event started aggregate of call 1 watch"}, up: ended("1 watch", `E "x"`, ""),
	},

	{
		row: "network error while a connection is established", name: "labels",
		up: with(ended("1 find", `E "during connection handshake"`, "network"),
			`pool a: ConnectionCheckOutFailed connectionError 1ms E "during connection handshake" network`,
			"pool a: ConnectionPoolCleared"),
		fork: []string{`pool a: ConnectionCheckOutFailed connectionError 1ms E "during connection handshake" network, SystemOverloadedError, RetryableError`},
	},
	{
		not: true, name: "the fork clears the pool", up: with(handshakeFails, "pool a: ConnectionPoolCleared"),
		fork: []string{labelled, "pool a: ConnectionPoolCleared"},
	},
	{not: true, name: "the fork sends the command", up: handshakeFails,
		fork: []string{labelled, "event started find of call 1 find", "event started find of call 1 find"}},
	{not: true, name: "the fork returns a result", up: handshakeFails,
		fork: []string{labelled, "call 1 find returns {1}, no error"}},
	{
		not: true, name: "no labels",
		up:   []string{`pool a: ConnectionCheckOutFailed connectionError 1ms E "during connection handshake" network`},
		fork: []string{`pool a: ConnectionCheckOutFailed connectionError 2ms E "during connection handshake" network`},
	},
	{not: true, name: "only the fork fails", fork: []string{
		`pool a: ConnectionCheckOutFailed connectionError 1ms E "during connection handshake" network, SystemOverloadedError, RetryableError`,
	}},
	{
		row: "errors of establishing a connection", name: "the newest upstream returns it",
		up: ended("1 find", `E "during connection handshake: x"`, "network, SystemOverloadedError, RetryableError",
			"returns <nil>, an error"),
	},
	{not: true, name: "without labels", up: ended("1 find", `E "during connection handshake: x"`, "network",
		"returns <nil>, an error")},
	{not: true, name: "another labelled error", up: ended("1 find", `E "x"`, "SystemOverloadedError, RetryableError",
		"returns <nil>, an error")},
	{
		row: "that error, or one while a connection is established, in a transaction", name: "a joined error",
		both: []string{`call 1 abortedTransaction error *errors.joinError "a was cleared because another operation failed with: x"`},
		up:   []string{"call 1 abortedTransaction is ", "call 1 abortedTransaction detail"},
		fork: []string{"call 1 abortedTransaction is TransientTransactionError", "call 1 abortedTransaction detail command 0"},
	},
	{
		not: true, name: "another error in a transaction", both: []string{`call 1 transaction error E "(BadValue) x"`},
		up: []string{"call 1 transaction is "}, fork: []string{"call 1 transaction is TransientTransactionError"},
	},
	{
		not: true, name: "outside of one",
		both: []string{`call 1 find error E "a was cleared because another operation failed with: x"`},
		up:   []string{"call 1 find is "}, fork: []string{"call 1 find is TransientTransactionError"},
	},
	{
		not: true, name: "the label is lost",
		both: []string{`call 1 transaction error E "a was cleared because another operation failed with: x"`},
		up:   []string{"call 1 transaction is TransientTransactionError"}, fork: []string{"call 1 transaction is "},
	},
	{
		row: "pool cleared before the command asked for a connection", name: "a retry",
		up: ended("1 find",
			`topology.poolClearedError "connection pool for a was cleared because another operation failed with: x"`, ""),
		fork: []string{asks, waits},
	},
	{
		not: true, name: "another text", up: ended("1 find", `topology.poolClearedError "cleared"`, ""),
		fork: []string{asks, waits},
	},
	{
		not: true, name: "no retry",
		up: ended("1 find",
			`topology.poolClearedError "connection pool for a was cleared because another operation failed with: x"`, ""),
		fork: ended("1 find", `T "connection pool for a was cleared because another operation failed with: x"`, ""),
	},
	{not: true, name: "only the fork meets it",
		fork: ended("1 find",
			`topology.poolClearedError "connection pool for a was cleared because another operation failed with: x"`, "")},
	{not: true, name: "a clear between two calls", both: []string{"pool a: ConnectionPoolCleared"},
		up: []string{"event started find of call 1 find"}, fork: []string{"event started find of call 2 find"}},

	{row: "`WithTransaction`, between transactions", name: "upstream begins at once",
		plan: oneOf("withTransaction"), up: []string{asks, inserts0}, laterFork: []string{inserts0}},
	{not: true, name: "the fork never begins", plan: oneOf("withTransaction"), up: []string{asks, inserts0},
		laterFork: []string{"call 1 withTransaction returns <nil>, no error"}},
	{not: true, name: "while another call is under way", up: []string{asks, inserts0}, laterFork: []string{inserts0},
		plan: Plan{Calls: []Call{{ID: 2, Kind: "insertOne"}, {ID: 1, Kind: "withTransaction"}}}},
	{
		row: "`WithTransaction`, between transactions", name: "no time", plan: Plan{Calls: []Call{{Kind: "withTransaction"}}},
		up:   []string{asks},
		fork: ended("1 withTransaction", `E "x: no time to try the transaction again: y"`, "timeout", "returns <nil>, an error"),
	},
	{
		row: "`WithTransaction`, between transactions", name: "upstream begins without time",
		plan: Plan{Calls: []Call{{Kind: "withTransaction"}}},
		up: with(ended("1 withTransaction", `E "calculated server-side timeout (0 ms) is less than or equal to 0"`, "timeout"),
			asks, "pool a: ConnectionCheckedOut  0s "),
		fork: ended("1 withTransaction", `E "x: context deadline exceeded"`, "timeout, TransientTransactionError"),
	},
	{
		not: true, name: "upstream ends with another error", plan: Plan{Calls: []Call{{Kind: "withTransaction"}}},
		up:   ended("1 withTransaction", `E "(WriteConflict) x"`, "timeout"),
		fork: ended("1 withTransaction", `E "x"`, "timeout, TransientTransactionError"),
	},
	{
		not: true, name: "the fork's begins without time", plan: Plan{Calls: []Call{{Kind: "withTransaction"}}},
		up:   ended("1 withTransaction", `E "x: context deadline exceeded"`, "timeout, TransientTransactionError"),
		fork: ended("1 withTransaction", `E "context deadline exceeded"`, "timeout"),
	},
	{
		row: "`WithTransaction`, between transactions", name: "upstream waits for a server at once",
		plan:      oneOf("withTransaction"),
		up:        []string{waits, `log "Waiting for suitable server to become available" operation: insert`},
		laterFork: []string{`call 1 withTransaction error E "x"`},
	},
	{not: true, name: "another error", plan: Plan{Calls: []Call{{Kind: "withTransaction"}}}, up: []string{asks},
		fork: ended("1 withTransaction", `E "x"`, "", "returns <nil>, an error")},
	{not: true, name: "a success", plan: Plan{Calls: []Call{{Kind: "withTransaction"}}}, up: []string{asks},
		fork: []string{"call 1 withTransaction returns <nil>, no error"}},
	{not: true, name: "a commit", plan: Plan{Calls: []Call{{Kind: "withTransaction"}}}, up: []string{asks, commits}},
	{row: "`WithTransaction`, between transactions", name: "the fork begins later",
		plan: oneOf("withTransaction"), fork: []string{asks, inserts0}, laterUp: []string{inserts0}},
	{not: true, name: "the fork alone begins", plan: oneOf("withTransaction"), fork: []string{asks, inserts0}},
	{not: true, name: "another call begins", plan: Plan{Calls: []Call{{Kind: "withTransaction"}}},
		fork: []string{asks, "event started insert of call 2 insertOne"}},
	{
		row: "`WithTransaction`, between transactions", name: "at another time",
		plan: Plan{Calls: []Call{{Kind: "withTransaction"}}},
		up:   []string{`server a sees insert: c, startTransaction: true, maxTimeMS: {"$numberLong":"10"}`},
		fork: []string{`server a sees insert: c, startTransaction: true, maxTimeMS: {"$numberLong":"9"}`},
	},
	{
		not: true, name: "with another field", plan: Plan{Calls: []Call{{Kind: "withTransaction"}}},
		up:   []string{`server a sees insert: c, startTransaction: true`},
		fork: []string{`server a sees insert: d, startTransaction: true`},
	},
	{
		row: "`WithTransaction`, time is up after another error", name: "unchanged",
		plan: Plan{Calls: []Call{{Kind: "withTransaction"}}},
		up:   ended("1 withTransaction", `mongo.timeoutError "operation timed out: x"`, "timeout, network"),
		fork: ended("1 withTransaction", `E "x"`, "network"),
	},
	{
		not: true, name: "and changed", plan: Plan{Calls: []Call{{Kind: "withTransaction"}}},
		up:   ended("1 withTransaction", `mongo.timeoutError "operation timed out: x"`, "timeout"),
		fork: ended("1 withTransaction", `E "y"`, ""),
	},
	{
		row: "`WithTransaction`, context with a deadline", name: "it passes",
		plan: Plan{Calls: []Call{{ID: 1, Kind: "withTransaction", Deadline: time.Second}}},
		up:   []string{asks}, fork: ended("1 withTransaction", `E "context deadline exceeded"`,
			"timeout, context deadline exceeded", "returns <nil>, an error"),
	},
	{
		not: true, name: "without a deadline", plan: Plan{Calls: []Call{{ID: 1, Kind: "withTransaction"}}},
		up: []string{asks}, fork: ended("1 withTransaction", `E "context deadline exceeded"`, "timeout, context deadline exceeded",
			"returns <nil>, an error"),
	},
	{
		row: "a commit's result is unknown", name: "upstream commits at once",
		both: []string{"event failed commitTransaction after 1ms: E"}, plan: oneOf("transaction"),
		up: []string{"event started commitTransaction of call 1 transaction"}, fork: []string{asks},
		laterFork: []string{"event started commitTransaction of call 1 transaction"},
	},
	{
		not: true, name: "the fork does not commit again", plan: oneOf("transaction"),
		both: []string{"event failed commitTransaction after 1ms: E"},
		up:   []string{"event started commitTransaction of call 1 transaction"}, fork: []string{asks},
		laterFork: []string{"call 1 transaction returns <nil>, no error"},
	},
	{
		not: true, name: "the commit succeeded", plan: oneOf("transaction"),
		both: []string{"event succeeded commitTransaction after 1ms"},
		up:   []string{"event started commitTransaction of call 1 transaction"}, fork: []string{asks},
		laterFork: []string{"event started commitTransaction of call 1 transaction"},
	},
	{
		row: "retries of commit and abort under a deadline or `Timeout`", name: "upstream's third is sent at once",
		plan: oneOf("transaction", "timeoutMS=50"), both: []string{"event failed abortTransaction after 1ms: E"},
		up:        []string{asks, "event started abortTransaction of call 1 transaction"},
		laterFork: []string{"event started abortTransaction of call 1 transaction"},
	},
	{
		not: true, name: "without a deadline, by the application", plan: oneOf("transaction"),
		both: []string{"event failed abortTransaction after 1ms: E"},
		up:   []string{asks, "event started abortTransaction of call 1 transaction"}, laterFork: []string{"call 1 transaction error E"},
	},
	{
		not: true, name: "the fork's third is never sent", plan: oneOf("transaction", "timeoutMS=50"),
		both: []string{"event failed abortTransaction after 1ms: E"},
		up:   []string{asks, "event started abortTransaction of call 1 transaction"},
	},
	{
		not: true, name: "the first", plan: oneOf("transaction", "timeoutMS=50"),
		up:        []string{asks, "event started commitTransaction of call 1 transaction"},
		laterFork: []string{"event started commitTransaction of call 1 transaction"},
	},
	{
		row: "a commit of unknown result by `WithTransaction`", name: "upstream commits again at once",
		plan: oneOf("withTransaction"), both: []string{"event failed commitTransaction after 1ms: E"},
		up: []string{asks, "pool a: ConnectionCreated  0s "}, laterFork: []string{"event started commitTransaction of call 1 withTransaction"},
	},
	{
		not: true, name: "the fork does not", plan: oneOf("withTransaction"),
		both: []string{"event failed commitTransaction after 1ms: E"},
		up:   []string{asks, "event started commitTransaction of call 1 withTransaction"},
	},
	{
		row: "a transaction finds no server; a commit's result is unknown", name: "unpinned",
		plan: in("sharded:2", oneOf("transaction")), both: []string{"event failed commitTransaction after 1ms: E"},
		fork:      []string{asks, "pool a: ConnectionCreated  0s "},
		laterFork: []string{"event started commitTransaction of call 1 transaction"},
	},
	{
		not: true, name: "another worker's connection", both: []string{"event failed commitTransaction after 1ms: E"},
		plan:      Plan{Topology: "sharded:2", Calls: []Call{{ID: 1, Kind: "transaction"}, {ID: 2, Kind: "find"}}},
		fork:      []string{asks + "by 1"},
		laterFork: []string{"event started commitTransaction of call 1 transaction"},
	},
	{
		row: "a transaction finds no server; a commit's result is unknown", name: "after a write concern error",
		plan: Plan{Topology: "loadbalanced:1", Calls: []Call{{ID: 1, Kind: "transaction"}},
			Faults: []Fault{{What: Concern, On: "commitTransaction"}}},
		both: []string{"event succeeded commitTransaction after 1ms"}, fork: []string{"pool a: ConnectionCheckedIn  0s "},
		laterFork: []string{"event started commitTransaction of call 1 transaction"},
	},
	{
		row: "a transaction finds no server; a commit's result is unknown", name: "a monitor took its time",
		plan: Plan{Topology: "loadbalanced:1", Monitor: Monitor{On: "failed"},
			Calls: []Call{{ID: 1, Kind: "withTransaction", Again: "commit"}}},
		fork: []string{"pool a: ConnectionCheckedIn  0s "}, laterFork: []string{"call 1 commitAgain error E"},
	},
	{
		row: "a commit of unknown result that was sent", name: "no server for the next",
		plan: Plan{Faults: []Fault{{What: Concern, On: "commitTransaction"}}},
		up: ended("1 withTransaction", `driver.WriteCommandError "write command error: [{write errors: []}, {x}]"`,
			"RetryableWriteError",
			"returns <nil>, an error"),
	},
	{
		row: "a commit of unknown result that was sent", name: "the fork has no time for the next",
		plan: Plan{Faults: []Fault{{What: Concern, On: "commitTransaction"}}},
		up: ended("1 transaction", `driver.WriteCommandError "write command error: [{write errors: []}, {x}]"`,
			"RetryableWriteError",
			"returns <nil>, an error"),
		fork: ended("1 transaction", `mongo.CommandError "x: no time for a retry: x"`, "UnknownTransactionCommitResult",
			"returns <nil>, an error"),
	},
	{
		not: true, name: "nor does the fork have a label", plan: Plan{Faults: []Fault{{What: Concern, On: "commitTransaction"}}},
		up: ended("1 transaction", `driver.WriteCommandError "write command error: [{write errors: []}, {x}]"`,
			"RetryableWriteError",
			"returns <nil>, an error"),
		fork: ended("1 transaction", `mongo.CommandError "x: no time for a retry: x"`, "RetryableWriteError",
			"returns <nil>, an error"),
	},
	{
		row: "`WithTransaction`, time is up after another error", name: "both say that it is",
		up: ended("1 withTransaction", `mongo.timeoutError "operation timed out: x"`, "timeout", "returns <nil>, an error"),
		fork: ended("1 withTransaction", `backpressure.Interruption "x: no time to try the transaction again: y"`,
			"timeout, context deadline exceeded", "returns <nil>, an error"),
	},
	{
		not: true, name: "of another error",
		up: ended("1 withTransaction", `mongo.timeoutError "operation timed out: x"`, "timeout", "returns <nil>, an error"),
		fork: ended("1 withTransaction", `backpressure.Interruption "y: no time to try the transaction again: y"`,
			"timeout, context deadline exceeded", "returns <nil>, an error"),
	},
	{
		row: "an interrupted write of many documents", name: "with the label of the attempt before",
		up: ended("1 bulkWrite", `topology.ServerSelectionError "x"`, "timeout", "returns nil"),
		fork: ended("1 bulkWrite", `backpressure.Interruption "x: no time for a retry: y"`, "timeout, RetryableWriteError",
			"returns nil"),
	},
	{
		not: true, name: "with any label",
		up: ended("1 bulkWrite", `topology.ServerSelectionError "x"`, "timeout", "returns nil"),
		fork: ended("1 bulkWrite", `backpressure.Interruption "x: no time for a retry: y"`, "timeout, NoWritesPerformed",
			"returns nil"),
	},
	{
		row: "a commit of unknown result that was sent", name: "upstream has not returned yet",
		plan: Plan{Faults: []Fault{{What: Concern, On: "commitTransaction"}}},
		fork: ended("1 withTransaction", `mongo.CommandError "x: no time for a retry: x"`, "UnknownTransactionCommitResult",
			"returns <nil>, an error"),
	},
	{
		not: true, name: "nor is there a fault of a commit",
		fork: ended("1 withTransaction", `mongo.CommandError "x: no time for a retry: x"`, "UnknownTransactionCommitResult",
			"returns <nil>, an error"),
	},
	{
		row: "that error of a commit; a commit that finds no server", name: "the application's second",
		up: ended("1 commitAgain", `topology.ServerSelectionError "server selection error: x"`, "timeout",
			"returns <nil>, an error"),
		fork: ended("1 commitAgain", `mongo.CommandError " server selection error: x"`, "timeout, UnknownTransactionCommitResult",
			"returns <nil>, an error"),
	},
	{
		not: true, name: "but with a label", plan: Plan{Faults: []Fault{{What: Concern, On: "commitTransaction"}}},
		up: ended("1 withTransaction", `driver.WriteCommandError "write command error: [{write errors: []}, {x}]"`,
			"UnknownTransactionCommitResult", "returns <nil>, an error"),
	},
	{
		row: "pool cleared before the command asked for a connection", name: "of a cursor, whose end has the error, too",
		up: ended("1 watch", `*errors.joinError "connection pool for a was cleared because another operation failed with: x: x"`,
			"",
			"returns 1, an error"), laterFork: []string{asks},
	},
	{
		not: true, name: "a result at once",
		up: ended("1 insertOne",
			`topology.poolClearedError "connection pool for a was cleared because another operation failed with: x"`, ""),
		fork: []string{"call 1 insertOne returns {1}, no error"}, laterFork: []string{asks},
	},
	{not: true, name: "nor did a monitor take its time",
		plan: Plan{Topology: "loadbalanced:1", Calls: []Call{{Kind: "withTransaction", Again: "commit"}}},
		fork: []string{"pool a: ConnectionCheckedIn  0s "}},
	{not: true, name: "nothing was pinned", plan: Plan{Topology: "replicaset:1"},
		both: []string{"event failed commitTransaction after 1ms: E"}, fork: []string{asks}},
	{not: true, name: "the fork alone commits again", both: []string{"event failed commitTransaction after 1ms: E"},
		fork: []string{"event started commitTransaction of call 1 transaction"}},

	{
		row: "that error of a commit; a commit that finds no server", name: "WithTransaction commits again",
		plan: Plan{Calls: []Call{{Kind: "withTransaction"}}},
		up: ended("1 withTransaction", `topology.ServerSelectionError "server selection error: x"`, "timeout",
			"returns <nil>, an error"),
		fork: []string{asks, waits},
	},
	{
		not: true, name: "WithTransaction commits again after MaxTimeMSExpired",
		plan: Plan{Calls: []Call{{Kind: "withTransaction"}}},
		up:   ended("1 withTransaction", `mongo.CommandError "(MaxTimeMSExpired) x"`, "timeout", "returns <nil>, an error"),
		fork: []string{commits, asks},
	},
	{
		row: "that error of a commit; a commit that finds no server", name: "upstream begins again",
		plan: oneOf("withTransaction"), both: []string{"pool a: ConnectionCheckOutFailed timeout 0s E"},
		up: []string{inserts0}, fork: []string{commits},
	},
	{not: true, name: "upstream begins again, without such an error", plan: oneOf("withTransaction"), up: []string{inserts0},
		fork: []string{commits}},
	{not: true, name: "the fork alone waits", plan: Plan{Calls: []Call{{Kind: "withTransaction"}}}, up: []string{asks},
		fork: []string{waits, "pool a: ConnectionCreated"}},
	{
		not: true, name: "with the label", plan: Plan{Calls: []Call{{Kind: "withTransaction"}}},
		up: ended("1 withTransaction", `topology.ServerSelectionError "server selection error: x"`,
			"UnknownTransactionCommitResult"), fork: []string{commits, asks},
	},
	{
		not: true, name: "WithTransaction succeeds instead", plan: Plan{Calls: []Call{{Kind: "withTransaction"}}},
		up:   ended("1 withTransaction", `topology.ServerSelectionError "server selection error: x"`, ""),
		fork: []string{"call 1 withTransaction returns <nil>, no error"},
	},
	{
		row: "that error of a commit; a commit that finds no server", name: "a commit",
		up: ended("1 transaction", `topology.ServerSelectionError "server selection error: x"`, "timeout", "detail"),
		fork: ended("1 transaction", `mongo.CommandError "server selection error: x"`, "timeout, UnknownTransactionCommitResult",
			"detail command 0"),
	},
	{
		not: true, name: "a commit's other error",
		up:   ended("1 transaction", `mongo.CommandError "(MaxTimeMSExpired) x"`, ""),
		fork: ended("1 transaction", `mongo.CommandError "(MaxTimeMSExpired) x"`, "UnknownTransactionCommitResult"),
	},
	{
		row: "write without a connection, `retryWrites` on", name: "a write",
		both: []string{`call 1 insertOne error E "server selection error: x"`},
		up:   []string{"call 1 insertOne is timeout"}, fork: []string{"call 1 insertOne is timeout, RetryableWriteError"},
	},
	{
		not: true, name: "a read", both: []string{`call 1 find error E "server selection error: x"`},
		up: []string{"call 1 find is timeout"}, fork: []string{"call 1 find is timeout, RetryableWriteError"},
	},
	{
		not: true, name: "a write with a connection", both: []string{`call 1 insertOne error E "(BadValue) x"`},
		up: []string{"call 1 insertOne is "}, fork: []string{"call 1 insertOne is RetryableWriteError"},
	},
	{
		not: true, name: "a server's error of that text",
		both: []string{`call 1 insertOne error mongo.WriteException "(BadValue) during connection handshake"`},
		up:   []string{"call 1 insertOne is "}, fork: []string{"call 1 insertOne is RetryableWriteError"},
	},
	{
		not: true, name: "a write that is not retried", plan: Plan{Options: []string{"retryWrites=false"}},
		both: []string{`call 1 insertOne error E "server selection error: x"`},
		up:   []string{"call 1 insertOne is timeout"}, fork: []string{"call 1 insertOne is timeout, RetryableWriteError"},
	},
	{
		row: "`WithTransaction`, between transactions", name: "after an idle connection", plan: oneOf("withTransaction"),
		fork: []string{"pool a: ConnectionCheckOutStarted  0s by 0", "pool a: ConnectionClosed idle 0s",
			`log "Connection closed" reason: Connection has been available but unused for longer than x`},
		laterUp: []string{inserts0},
	},
	{
		not: true, name: "after a connection that is closed for another reason", plan: oneOf("withTransaction"),
		fork: []string{"pool a: ConnectionCheckOutStarted  0s by 0", "pool a: ConnectionClosed stale 0s",
			`log "Connection closed" reason: Connection became stale because the pool was cleared`},
		laterUp: []string{inserts0},
	},
	{
		row: "that error of a commit; a commit that finds no server", name: "upstream aborts", plan: oneOf("withTransaction"),
		up:        []string{`log "Server selection started" operation: abortTransaction, selector: `},
		both:      []string{`log "Server selection failed" failure: x`},
		laterFork: []string{commits},
	},
	{
		not: true, name: "upstream aborts, and the fork does nothing", plan: oneOf("withTransaction"),
		up:   []string{`log "Server selection started" operation: abortTransaction, selector: `},
		both: []string{`log "Server selection failed" failure: x`},
	},
	{
		row: "`WithTransaction`, between transactions", name: "a microsecond", plan: oneOf("withTransaction"),
		up:        []string{"       1.234 server a sees insert: c, startTransaction: true"},
		laterFork: []string{"       1.235 server a sees insert: c, startTransaction: true"},
	},
	{
		not: true, name: "more than that", plan: oneOf("withTransaction"),
		up:        []string{"       1.234 server a sees insert: c, startTransaction: true"},
		laterFork: []string{"       1.238 server a sees insert: c, startTransaction: true"},
	},
	{
		not: true, name: "what only one driver does", plan: oneOf("withTransaction"),
		up: []string{"       1.234 server a sees insert: c, startTransaction: true"},
	},
	{
		row: "a commit of unknown result by `WithTransaction`", name: "no time for another", plan: oneOf("withTransaction"),
		up:   []string{commits},
		fork: ended("1 withTransaction", `E "x: no time to try the transaction again: context deadline exceeded"`, "timeout"),
		both: []string{"event failed commitTransaction after 1ms"},
	},
	{
		not: true, name: "there is time for another", plan: oneOf("withTransaction"),
		up: []string{commits}, fork: ended("1 withTransaction", `E "x"`, "timeout"),
		both: []string{"event failed commitTransaction after 1ms"},
	},
	{
		row: "a commit of unknown result that was sent", name: "what a monitor runs after it",
		plan: Plan{Monitor: Monitor{Asks: 1}, Calls: []Call{{ID: 1, Kind: "transaction"}}},
		up:   []string{`server a sees count: "c", lsid: 1`},
		fork: []string{`server a sees count: "c", readConcern: {"afterClusterTime": {"$timestamp":{"t":9,"i":1}}}, lsid: 1`},
	},
	{
		not: true, name: "what a monitor runs elsewhere",
		plan: Plan{Monitor: Monitor{Asks: 1}, Calls: []Call{{ID: 1, Kind: "insertOne"}}},
		up:   []string{`server a sees count: "c", lsid: 1`},
		fork: []string{`server a sees count: "c", readConcern: {"afterClusterTime": {"$timestamp":{"t":9,"i":1}}}, lsid: 1`},
	},
	{
		row: "pool cleared before the command asked for a connection", name: "in a transaction", plan: oneOf("withTransaction"),
		up: []string{"pool a: ConnectionCheckOutStarted  0s by 0"}, fork: []string{"pool a: ConnectionCreated  0s "},
		both:      []string{`pool a: ConnectionCheckOutFailed connectionError 1ms topology.poolClearedError "x"`},
		laterUp:   []string{"event started update of call 1 withTransaction"},
		laterFork: []string{"event started abortTransaction of call 1 withTransaction"},
	},
	{
		not: true, name: "a command of no transaction", plan: oneOf("updateOne"),
		up:      []string{"pool a: ConnectionCheckOutStarted  0s by 0"},
		both:    []string{`pool a: ConnectionCheckOutFailed connectionError 1ms topology.poolClearedError "x"`},
		laterUp: []string{"event started update of call 1 updateOne"},
	},
	{
		not: true, name: "a command of a transaction, and nothing that says why", plan: oneOf("withTransaction"),
		up:        []string{"pool a: ConnectionCheckOutStarted  0s by 0"},
		laterUp:   []string{"event started update of call 1 withTransaction"},
		laterFork: []string{"event started abortTransaction of call 1 withTransaction"},
	},
	{
		row: "pool cleared before the command asked for a connection", name: "a monitor's command", plan: oneOf("transaction"),
		fork:    ended("1001 monitor", `mongo.CommandError "connection pool for a was cleared because x"`, "TransientTransactionError"),
		laterUp: []string{"event started count of call 1001 monitor"},
	},
	{
		not: true, name: "a monitor's command outside of transactions", plan: oneOf("insertOne"),
		fork:    ended("1001 monitor", `mongo.CommandError "connection pool for a was cleared because x"`, "TransientTransactionError"),
		laterUp: []string{"event started count of call 1001 monitor"},
	},
	{
		row: "retried abortTransaction", name: "its label after a commit that was never sent",
		up:   []string{`event failed abortTransaction after 1ms: driver.Error "x" network, UnknownTransactionCommitResult`},
		fork: []string{`event failed abortTransaction after 1ms: driver.Error "x" network, TransientTransactionError`},
	},
	{
		not: true, name: "another error of an abort",
		up:   []string{`event failed abortTransaction after 1ms: driver.Error "x" network, UnknownTransactionCommitResult`},
		fork: []string{`event failed abortTransaction after 1ms: driver.Error "y" network, TransientTransactionError`},
	},
	{
		row: "retried abortTransaction", name: "its write concern",
		up:   []string{`server a sees abortTransaction: 1, writeConcern: {"w": "majority","wtimeout": {"x":1}}, lsid: 1`},
		fork: []string{`server a sees abortTransaction: 1, lsid: 1`},
	},
	{
		not: true, name: "the write concern of a commit",
		up:   []string{`server a sees commitTransaction: 1, writeConcern: {"w": "majority","wtimeout": {"x":1}}, lsid: 1`},
		fork: []string{`server a sees commitTransaction: 1, lsid: 1`},
	},
	{
		row: "retried abortTransaction", name: "it goes elsewhere",
		up:        []string{"event started abortTransaction of call 1 abortedTransaction"},
		fork:      []string{asks, "pool a: ConnectionCheckedIn  0s "},
		laterFork: []string{"event started abortTransaction of call 1 abortedTransaction"},
	},
	{
		row: "retried abortTransaction", name: "after a write concern error",
		plan:      Plan{Faults: []Fault{{What: Concern, On: "abortTransaction", Code: 91}}},
		fork:      []string{asks},
		both:      []string{"event succeeded abortTransaction after 1ms"},
		laterUp:   []string{"event started abortTransaction of call 1 abortedTransaction"},
		laterFork: []string{"event started abortTransaction of call 1 abortedTransaction"},
	},
	{
		not: true, name: "the fork does not abort",
		up:   []string{"event started abortTransaction of call 1 abortedTransaction"},
		fork: []string{asks, "pool a: ConnectionCheckedIn  0s "},
	},
	{
		not: true, name: "it aborts twice",
		up:        []string{"event started abortTransaction of call 1 abortedTransaction"},
		fork:      []string{asks, "event started abortTransaction of call 1 abortedTransaction"},
		laterFork: []string{"event started abortTransaction of call 1 abortedTransaction"},
	},
	{not: true, name: "nothing is aborted", fork: []string{asks, "pool a: ConnectionCheckedIn  0s "}},
	{
		row: "that error, or one while a connection is established, in a transaction", name: "upstream's at the end of a cursor",
		up: []string{"call 1 tailable is TransientTransactionError"}, fork: []string{"call 1 tailable is "},
		both: []string{clearedAtEnd},
	},
	{
		not: true, name: "the fork's at the end of a cursor",
		up: []string{"call 1 tailable is "}, fork: []string{"call 1 tailable is TransientTransactionError"},
		both: []string{clearedAtEnd},
	},
	{
		row: "the deadline passes, or the context is cancelled, before a retry is sent", name: "after the newest's timeout",
		up:   ended("1 withTransaction", `mongo.timeoutError "operation timed out: x"`, "timeout, network"),
		fork: ended("1 withTransaction", `mongo.CommandError "x: no time for a retry: y"`, "timeout, network, context canceled"),
	},
	{
		not: true, name: "after the newest's timeout, another error",
		up:   ended("1 withTransaction", `mongo.timeoutError "operation timed out: z"`, "timeout, network"),
		fork: ended("1 withTransaction", `mongo.CommandError "x: no time for a retry: y"`, "timeout, network, context canceled"),
	},
	{
		row: "client bulk write, reading its results with getMore", name: "a dropped connection",
		plan: Plan{Faults: []Fault{{What: Drop, On: "getMore"}}, Calls: []Call{{ID: 1, Kind: "clientBulkWriteMany"}}},
		up:   []string{"pool a: ConnectionCreated  0s "},
		fork: []string{"event started getMore of call 1 clientBulkWriteMany", "pool a: ConnectionCheckedIn  0s "},
	},
	{
		not: true, name: "a lost connection",
		plan: Plan{Faults: []Fault{{What: Lose, On: "getMore"}}, Calls: []Call{{ID: 1, Kind: "clientBulkWriteMany"}}},
		up:   []string{"pool a: ConnectionCreated  0s "},
		fork: []string{"event started getMore of call 1 clientBulkWriteMany", "pool a: ConnectionCheckedIn  0s "},
	},
	{
		row: "a compressor fails, or the connection is closed before the command is sent", name: "in the log, too",
		fork: []string{`event failed insert after 0s: topology.ConnectionError "connection(<closed>) connection is closed" `,
			`log "Command failed" commandName: insert, failure: connection(<closed>) connection is closed, serverHost: a`},
	},
	{
		not: true, name: "only in the log",
		fork: []string{`log "Command failed" failure: connection(<closed>) connection is closed, serverHost: a`},
	},
	{
		row: "an interrupted write of many documents", name: "insertMany's indexes",
		up:   ended("1 insertMany", `E "x"`, "", "detail bulk x 1 11000 of <nil>"),
		fork: ended("1 insertMany", `E "x: no time for a retry: y"`, "timeout", "detail bulk x 3 11000 of <nil>"),
	},
	{
		row: "an interrupted write of many documents", name: "a bulk write's indexes", plan: Plan{Batch: 1},
		up:   ended("1 bulkWrite", `E "x"`, "", "detail bulk x 0 11000 of a"),
		fork: ended("1 bulkWrite", `E "x: no time for a retry: y"`, "timeout", "detail bulk x 1 11000 of a"),
	},
	{
		not: true, name: "a bulk write's indexes in one batch",
		up:   ended("1 bulkWrite", `E "x"`, "", "detail bulk x 0 11000 of a"),
		fork: ended("1 bulkWrite", `E "x: no time for a retry: y"`, "timeout", "detail bulk x 1 11000 of a"),
	},
	{
		not: true, name: "insertMany's indexes, not interrupted", up: []string{"call 1 insertMany detail bulk x 1 11000 of <nil>"},
		fork: []string{"call 1 insertMany detail bulk x 3 11000 of <nil>"},
	},
	{
		row: "labels for a refused hello", name: "only upstream's",
		up: with([]string{"call 1 find is network, SystemOverloadedError, RetryableError",
			`call 1 find detail command 0  ["NetworkError"]`},
			`pool a: ConnectionClosed error 0s E "during connection handshake: (InterruptedDueToOverload) x" network, SystemOverloadedError, RetryableError`),
		fork: with([]string{"call 1 find is SystemOverloadedError",
			`call 1 find detail command 473 InterruptedDueToOverload ["SystemOverloadedError"]`},
			`pool a: ConnectionClosed error 0s E "during connection handshake: (InterruptedDueToOverload) x" SystemOverloadedError`),
	},
	{
		not: true, name: "no label at all",
		up:   []string{`pool a: ConnectionClosed error 0s E "during connection handshake: (InterruptedDueToOverload) x" network, SystemOverloadedError, RetryableError`},
		fork: []string{`pool a: ConnectionClosed error 0s E "during connection handshake: (InterruptedDueToOverload) x" `},
	},
	{
		row: "a commit of unknown result that was sent", name: "upstream's EndSession", plan: oneOf("transaction"),
		up:   []string{asks, "event started abortTransaction of call 0 "},
		fork: ended("1 transaction", `E "x"`, "timeout, context deadline exceeded, UnknownTransactionCommitResult"),
	},
	{
		row: "a commit of unknown result that was sent", name: "the application's abort", plan: oneOf("transaction"),
		up:   []string{"event started abortTransaction of call 1 transaction"},
		fork: ended("1 abortAgain", `E "cannot call abortTransaction after calling commitTransaction"`, ""),
		both: ended("1 transaction", `E "x"`, "timeout, UnknownTransactionCommitResult"),
	},
	{
		not: true, name: "upstream does not abort", plan: oneOf("transaction"), up: []string{asks},
		fork: ended("1 transaction", `E "x"`, "timeout, context deadline exceeded, UnknownTransactionCommitResult"),
	},
	{
		not: true, name: "a commit that is not sent again",
		up:   []string{asks, "event started commitTransaction of call 1 transaction"},
		fork: ended("1 transaction", `E "x"`, "timeout, UnknownTransactionCommitResult"),
	},
	{
		not: true, name: "one whose time is not up", up: []string{asks, "event started abortTransaction of call 0 "},
		fork: ended("1 transaction", `E "x"`, "network, UnknownTransactionCommitResult"),
	},
	{not: true, name: "no abort, and no commit before it", up: []string{"event started abortTransaction of call 0 "},
		fork: ended("1 abortedTransaction", `E "x"`, "timeout")},
	{
		row: "a commit of unknown result that was sent", name: "the next is for a majority",
		up:   []string{`server a sees commitTransaction: 1, writeConcern: {"w": {"$numberInt":"1"}}, lsid: 1`},
		fork: []string{`server a sees commitTransaction: 1, writeConcern: {"w": "majority","wtimeout": {"$numberInt":"10000"}}, lsid: 1`},
	},
	{
		not: true, name: "upstream's is for a majority",
		up:   []string{`server a sees commitTransaction: 1, writeConcern: {"w": "majority"}, lsid: 1`},
		fork: []string{`server a sees commitTransaction: 1, lsid: 1`},
	},
	{
		not: true, name: "and in another session", up: []string{`server a sees commitTransaction: 1, lsid: 1`},
		fork: []string{`server a sees commitTransaction: 1, writeConcern: {"w": "majority"}, lsid: 2`},
	},
	{
		row: "a transaction finds no server; a commit's result is unknown", name: "the next goes to another router",
		plan: Plan{Topology: "sharded:2", Calls: []Call{{ID: 1, Kind: "transaction", Again: "commit"}}},
		up:   []string{asks}, fork: []string{"pool b: ConnectionCheckOutStarted  0s ", "pool b: ConnectionCreated  0s "},
		laterFork: []string{"event started commitTransaction of call 1 transaction"},
	},
	{
		not: true, name: "another worker's, to another router",
		plan: Plan{Topology: "sharded:2", Calls: []Call{{ID: 1, Kind: "transaction", Again: "commit"}, {ID: 2, Kind: "find"}}},
		up:   []string{asks + "by 1"}, fork: []string{"pool b: ConnectionCheckOutStarted  0s "},
		laterFork: []string{"event started commitTransaction of call 1 transaction"},
	},
	{
		row: "a transaction finds no server; a commit's result is unknown", name: "upstream's goes to the same, at once",
		plan:      Plan{Topology: "sharded:2", Calls: []Call{{ID: 1, Kind: "transaction", Again: "commit"}}},
		up:        []string{asks, "event started commitTransaction of call 1 transaction"},
		fork:      []string{"pool b: ConnectionCheckOutStarted  0s "},
		laterFork: []string{"event started commitTransaction of call 1 transaction"},
	},
	{
		row: "malformed sizes, lengths, indexes and cursors in replies", name: "a change stream that upstream goes on with",
		plan: Plan{Faults: []Fault{{What: Lack, Field: "cursor.id"}}}, up: []string{"event started insert of call 1 watch"},
		fork: ended("1 watch", `E "malformed reply: the cursor has no id"`, ""),
	},
	{
		row: "reauthentication (code 391)", name: "the first of a transaction",
		plan: Plan{Faults: []Fault{{What: Error, Code: 391}}},
		up:   []string{"server a sees insert: c, txnNumber: 1, autocommit: false"},
		fork: []string{"server a sees insert: c, txnNumber: 1, startTransaction: true, autocommit: false"},
	},
	{
		not: true, name: "after another error", plan: Plan{Faults: []Fault{{What: Error, Code: 91}}},
		up:   []string{"server a sees insert: c, txnNumber: 1, autocommit: false"},
		fork: []string{"server a sees insert: c, txnNumber: 1, startTransaction: true, autocommit: false"},
	},
	{
		not: true, name: "it is not committed again",
		plan: Plan{Topology: "sharded:2", Calls: []Call{{Kind: "transaction", Again: "abort"}}},
		up:   []string{asks}, fork: []string{"pool b: ConnectionCheckOutStarted  0s ", "pool b: ConnectionCreated  0s "},
	},
	{
		row: "malformed sizes, lengths, indexes and cursors in replies", name: "a panic",
		plan: Plan{Faults: []Fault{{What: Lack, Field: "cursor.id"}}},
		up:   ended("1 find", `E "panic: x"`, ""), fork: ended("1 find", `E "malformed reply: the cursor has no id"`, ""),
	},
	{
		row: "malformed sizes, lengths, indexes and cursors in replies", name: "a success",
		plan: Plan{Faults: []Fault{{What: Lack, Field: "cursor.id"}}},
		up:   []string{"call 1 find returns [], no error"}, fork: ended("1 find", `E "malformed reply: the cursor has no id"`, "",
			"returns <nil>, an error"),
	},
	{
		row: "malformed sizes, lengths, indexes and cursors in replies", name: "a snapshot that upstream goes on with",
		plan: Plan{Faults: []Fault{{What: Lack, Field: "cursor.id"}}}, up: []string{"event started distinct of call 1 snapshot"},
		fork: ended("1 snapshot", `E "malformed reply: the cursor has no id"`, ""),
	},
	{
		row: "malformed sizes, lengths, indexes and cursors in replies", name: "a cursor that cannot be closed",
		plan: Plan{Faults: []Fault{{What: Lack, Field: "cursor.ns"}}},
		up:   ended("1 findClose", `E "database name cannot be empty"`, "", "returns true, an error"),
		fork: ended("1 findClose", `E "malformed reply: the cursor has no ns"`, "", "returns <nil>, an error"),
	},
	{
		not: true, name: "of a reply that lacks nothing", up: []string{"call 1 find returns [], no error"},
		fork: ended("1 find", `E "malformed reply: the cursor has no id"`, "", "returns <nil>, an error"),
	},
	{
		not: true, name: "for another error", plan: Plan{Faults: []Fault{{What: Lack, Field: "cursor.id"}}},
		up: ended("1 find", `E "no id"`, ""), fork: ended("1 find", `E "malformed reply: the cursor has no id"`, ""),
	},
	{
		row: "commit and abort by `WithTransaction`", name: "the client's Timeout", plan: Plan{Options: []string{"timeoutMS=50"},
			Calls: []Call{{Kind: "withTransaction"}}},
		up:   []string{`server a sees abortTransaction: 1, $db: "admin"`},
		fork: []string{`server a sees abortTransaction: 1, maxTimeMS: {"$numberLong":"50"}, $db: "admin"`},
	},
	{
		not: true, name: "without a Timeout", plan: Plan{Calls: []Call{{Kind: "withTransaction"}}},
		up:   []string{`server a sees abortTransaction: 1, $db: "admin"`},
		fork: []string{`server a sees abortTransaction: 1, maxTimeMS: {"$numberLong":"50"}, $db: "admin"`},
	},
	{
		not: true, name: "a Timeout that is lost", plan: Plan{Options: []string{"timeoutMS=50"},
			Calls: []Call{{Kind: "withTransaction"}}},
		up:   []string{`server a sees abortTransaction: 1, maxTimeMS: {"$numberLong":"50"}, $db: "admin"`},
		fork: []string{`server a sees abortTransaction: 1, $db: "admin"`},
	},
	{
		row: "commit and abort by `WithTransaction`", name: "one more retry",
		both: []string{"event failed abortTransaction after 1ms: x"},
		plan: Plan{Options: []string{"timeoutMS=50"}, Calls: []Call{{Kind: "withTransaction"}}},
		up:   ended("1 withTransaction", `E "x"`, ""), fork: []string{asks},
	},
	{
		not: true, name: "one more retry of the rest", both: []string{"event failed insert after 1ms: x"},
		plan: Plan{Options: []string{"timeoutMS=50"}, Calls: []Call{{Kind: "withTransaction"}}},
		up:   ended("1 withTransaction", `E "x"`, ""), fork: []string{asks},
	},
	{
		not: true, name: "one more retry without a Timeout", both: []string{"event failed abortTransaction after 1ms: x"},
		plan: Plan{Calls: []Call{{Kind: "withTransaction"}}},
		up:   ended("1 withTransaction", `E "x"`, ""), fork: []string{asks},
	},
	{
		row: "commit and abort by `WithTransaction`", name: "its end",
		plan: Plan{Options: []string{"timeoutMS=50"}, Calls: []Call{{Kind: "withTransaction"}}},
		fork: with(ended("1 withTransaction", `E "x"`, ""), "event failed abortTransaction after 50ms: E context deadline exceeded"),
		at:   60 * time.Millisecond, both: []string{"event started abortTransaction of call 1 withTransaction"},
	},
	{
		not: true, name: "its end before the Timeout", at: 40 * time.Millisecond,
		plan: Plan{Options: []string{"timeoutMS=50"}, Calls: []Call{{Kind: "withTransaction"}}},
		fork: ended("1 withTransaction", `E "x"`, ""),
		both: []string{"event started abortTransaction of call 1 withTransaction"},
	},
	{
		not: true, name: "its end for another reason",
		plan: Plan{Options: []string{"timeoutMS=50"}, Calls: []Call{{Kind: "withTransaction"}}},
		fork: with(ended("1 withTransaction", `E "x"`, ""), "event failed abortTransaction after 50ms: E network"),
		at:   60 * time.Millisecond, both: []string{"event started abortTransaction of call 1 withTransaction"},
	},
	{
		row: "commit and abort by `WithTransaction`", name: "what a monitor runs",
		plan: Plan{Options: []string{"timeoutMS=50"}, Monitor: Monitor{Asks: 1}, Calls: []Call{{Kind: "withTransaction"}}},
		up:   []string{`server a sees count: "c", maxTimeMS: {"$numberLong":"50"}, $db: "db"`},
		fork: []string{`server a sees count: "c", maxTimeMS: {"$numberLong":"40"}, $db: "db"`},
	},
	{
		not: true, name: "what calls run", plan: Plan{Options: []string{"timeoutMS=50"}, Calls: []Call{{Kind: "withTransaction"}}},
		up:   []string{`server a sees count: "c", maxTimeMS: {"$numberLong":"50"}, $db: "db"`},
		fork: []string{`server a sees count: "c", maxTimeMS: {"$numberLong":"40"}, $db: "db"`},
	},
	{
		row: "a compressor fails, or the connection is closed before the command is sent", name: "a counterpart",
		fork: []string{`event failed insert after 0s: topology.ConnectionError "connection(<closed>) connection is closed" `},
	},
	{
		not: true, name: "upstream's counterpart",
		up: []string{`event failed insert after 0s: topology.ConnectionError "connection(<closed>) connection is closed" `},
	},
	{
		row: "client bulk write, reading its results with getMore", name: "its results",
		up:        []string{"event started bulkWrite of call 1 clientBulkWriteMany"},
		fork:      []string{"pool a: ConnectionCheckedIn  0s", asks},
		laterFork: []string{"event started bulkWrite of call 1 clientBulkWriteMany"},
	},
	{
		not: true, name: "the fork's next batch is not sent",
		up:   []string{"event started bulkWrite of call 1 clientBulkWriteMany"},
		fork: []string{"pool a: ConnectionCheckedIn  0s", asks},
	},
	{
		row: "client bulk write, reading its results with getMore", name: "the context ends before upstream reads them",
		plan: Plan{Calls: []Call{{ID: 1, Kind: "clientBulkWriteMany", Cancel: time.Millisecond}}},
		up:   []string{"pool a: ConnectionCreated  0s"},
		fork: []string{"event started getMore of call 1 clientBulkWriteMany"},
		both: []string{"event succeeded bulkWrite after 1ms"},
	},
	{
		not: true, name: "one more", up: []string{"event started bulkWrite of call 1 clientBulkWriteMany"},
		fork:      []string{"event started bulkWrite of call 1 clientBulkWriteMany"},
		both:      []string{"event succeeded bulkWrite after 1ms"},
		laterFork: []string{"event started bulkWrite of call 1 clientBulkWriteMany"},
	},
	{
		row: "client bulk write, reading its results with getMore", name: "upstream's getMore meets the clearing of its pool",
		up:   []string{"event started bulkWrite of call 1 clientBulkWriteMany"},
		fork: []string{"pool a: ConnectionClosed stale 0s"},
		plan: Plan{Calls: []Call{{ID: 1, Kind: "clientBulkWriteMany"}}},
		laterUp: []string{`call 1 clientBulkWriteMany error mongo.ClientBulkWriteException "bulk write exception: ` +
			`top level error: connection pool for a was cleared because another operation failed with: x`},
	},
	{
		not: true, name: "upstream's call ends for another reason",
		up:      []string{"event started bulkWrite of call 1 clientBulkWriteMany"},
		fork:    []string{"pool a: ConnectionClosed stale 0s"},
		plan:    Plan{Calls: []Call{{ID: 1, Kind: "clientBulkWriteMany"}}},
		laterUp: []string{`call 1 clientBulkWriteMany error mongo.ClientBulkWriteException "bulk write exception: x`},
	},
	{
		not: true, name: "its results are not read", fork: []string{asks}, both: []string{"event succeeded bulkWrite after 1ms"},
		laterUp: []string{"event started getMore of call 1 clientBulkWriteMany"},
	},
	{not: true, name: "another call's connection", up: []string{"event started insert of call 1 bulkWrite"},
		fork: []string{"pool a: ConnectionCheckedIn  0s", asks}},
	{
		row: "client bulk write, reading its results with getMore", name: "after a slow monitor",
		plan: Plan{Calls: []Call{{Kind: "clientBulkWriteMany"}}},
		fork: []string{"pool a: ConnectionCheckedIn  0s"},
	},
	{
		row: "client bulk write, reading its results with getMore", name: "which then asks again",
		plan: Plan{Monitor: Monitor{On: "succeeded"}, Calls: []Call{{Kind: "clientBulkWriteMany"}}},
		fork: []string{"pool a: ConnectionCheckedIn  0s", "pool a: ConnectionCheckOutStarted  0s  by 0"},
	},
	{not: true, name: "which asks again at once", plan: Plan{Calls: []Call{{Kind: "clientBulkWriteMany"}}},
		fork: []string{"pool a: ConnectionCheckedIn  0s", "pool a: ConnectionCheckOutStarted  0s  by 0"}},
	{not: true, name: "a connection that is not returned", plan: Plan{Calls: []Call{{Kind: "clientBulkWriteMany"}}},
		up: []string{"pool a: ConnectionCheckedIn  0s"}},
	{
		row: "client bulk write, reading its results with getMore", name: "its next batch behind a load balancer",
		plan: Plan{Topology: "loadbalanced:1"},
		up:   ended("1 clientBulkWriteMany", `E "an inserted document is too large"`, ""),
		fork: []string{"event started bulkWrite of call 1 clientBulkWriteMany"},
	},
	{not: true, name: "another error of it", up: ended("1 clientBulkWriteMany", `E "x"`, ""),
		fork: []string{"event started bulkWrite of call 1 clientBulkWriteMany"}},
	{
		row: "client bulk write, reading its results with getMore", name: "its next batch after a write concern error",
		plan: Plan{Topology: "loadbalanced:2"},
		up:   ended("1 clientBulkWriteMany", `mongo.ClientBulkWriteException "bulk write exception: write concern errors: [x]"`, ""),
		fork: []string{"event started bulkWrite of call 1 clientBulkWriteMany"},
	},
	{
		not: true, name: "its next batch after a write concern error of a replica set",
		up:   ended("1 clientBulkWriteMany", `mongo.ClientBulkWriteException "bulk write exception: write concern errors: [x]"`, ""),
		fork: []string{"event started bulkWrite of call 1 clientBulkWriteMany"},
	},
	{
		row: "client bulk write, reading its results with getMore", name: "upstream's ends because its pool is cleared",
		plan: oneOf("clientBulkWriteMany"),
		up:   ended("1 clientBulkWriteMany", `E "connection pool for a was cleared because another operation failed with: x"`, ""),
		fork: []string{"event started getMore of call 1 clientBulkWriteMany"},
	},
	{
		not: true, name: "it ends for another reason", plan: oneOf("clientBulkWriteMany"),
		up:   ended("1 clientBulkWriteMany", `E "x"`, ""),
		fork: []string{"event started getMore of call 1 clientBulkWriteMany"},
	},
	{
		row:  "option: the server closes the connection of a heartbeat before it is established",
		name: "it is checked at another time", plan: Plan{Options: []string{"adaptiveThrottling=true"}},
		up:   []string{"heartbeat a[#] started, awaited false"},
		both: []string{`heartbeat a[#] failed after 1ms, awaited false: E "EOF"`},
	},
	{
		not: true, name: "without the option", up: []string{"heartbeat a[#] started, awaited false"},
		both: []string{`heartbeat a[#] failed after 1ms, awaited false: E "EOF"`},
	},
	{
		not: true, name: "an answered heartbeat", plan: Plan{Options: []string{"adaptiveThrottling=true"}},
		up: []string{"heartbeat a[#] started, awaited false"},
	},
	{
		row: "`WithTransaction`, between transactions", name: "nobody waits for the next",
		plan: Plan{Calls: []Call{{ID: 1, Kind: "withTransaction", Cancel: time.Millisecond}}},
		fork: ended("1 withTransaction", `E "x: interrupted before another attempt: context canceled"`,
			"context canceled, TransientTransactionError"),
	},
	{
		not: true, name: "it runs once", plan: Plan{Calls: []Call{{ID: 1, Kind: "withTransaction", Cancel: time.Millisecond}}},
		fork: ended("1 withTransaction", `E "x: interrupted before another attempt: context canceled"`, "context canceled"),
	},
	{
		not: true, name: "nothing ends its context", plan: oneOf("withTransaction"),
		fork: ended("1 withTransaction", `E "x: interrupted before another attempt: context canceled"`,
			"context canceled, TransientTransactionError"),
	},
	{
		row: "`WithTransaction`, between transactions", name: "by another router", plan: in("sharded:2", oneOf("withTransaction")),
		up:   []string{"pool 127.0.0.1:27017: ConnectionCheckOutStarted  0s "},
		fork: []string{"pool 127.0.0.1:27018: ConnectionCheckOutStarted  0s "},
	},
	{
		not: true, name: "by another member", plan: in("replicaset:2", oneOf("withTransaction")),
		up:   []string{"pool 127.0.0.1:27017: ConnectionCheckOutStarted  0s "},
		fork: []string{"pool 127.0.0.1:27018: ConnectionCheckOutStarted  0s "},
	},
	{
		row: "`WithTransaction`, between transactions", name: "upstream's connection was closed meanwhile", plan: oneOf("withTransaction"),
		up: []string{inserts0, `event failed insert after 0s: E "EOF" network, TransientTransactionError`, "topology: x",
			"heartbeat a[#] started, awaited false"},
		laterFork: []string{inserts0},
	},
	{
		row: "a commit of unknown result by `WithTransaction`", name: "a write concern error",
		plan: Plan{Calls: []Call{{ID: 1, Kind: "withTransaction"}}, Faults: []Fault{{What: Concern, Code: 64, On: "commitTransaction"}}},
		up:   []string{commits}, both: []string{"event succeeded commitTransaction after 1ms"},
		laterFork: []string{`call 1 withTransaction error E "x"`},
	},
	{
		row: "retries of commit and abort under a deadline or `Timeout`", name: "an abort",
		plan: Plan{Calls: []Call{{ID: 1, Kind: "abortedTransaction", Deadline: time.Millisecond}}},
		up:   []string{"pool a: ConnectionCreated  0s"}, both: []string{"event failed abortTransaction after 1ms"},
		laterFork: []string{"call 1 abortedTransaction returns <nil>, no error"},
	},
	{
		not: true, name: "the fork's abort never ends",
		plan: Plan{Calls: []Call{{ID: 1, Kind: "abortedTransaction", Deadline: time.Millisecond}}},
		up:   []string{"pool a: ConnectionCreated  0s"}, both: []string{"event failed abortTransaction after 1ms"},
	},
	{
		row: "that error of a commit; a commit that finds no server", name: "there is no time for its retry", plan: oneOf("withTransaction"),
		up: ended("1 withTransaction", `E "x"`, "RetryableWriteError"),
		fork: ended("1 withTransaction", `E "x: no time for a retry: server selection error: y"`,
			"timeout, RetryableWriteError, UnknownTransactionCommitResult"),
		both: []string{"event failed commitTransaction after 1ms"},
	},
	{
		not: true, name: "there is a server for its retry", plan: oneOf("withTransaction"),
		up: ended("1 withTransaction", `E "x"`, "RetryableWriteError"),
		fork: ended("1 withTransaction", `E "x: no time for a retry: y"`,
			"timeout, RetryableWriteError, UnknownTransactionCommitResult"),
		both: []string{"event failed commitTransaction after 1ms"},
	},
	{
		row: "errors of establishing a connection", name: "upstream returns the error before it", plan: oneOf("find"),
		up: ended("1 find", `mongo.CommandError "x"`, "network"),
		both: []string{`pool a: ConnectionCheckOutFailed connectionError 1ms E "during connection handshake" network, ` +
			`SystemOverloadedError, RetryableError`},
	},
	{
		not: true, name: "an error without a refused connection", plan: oneOf("find"),
		up: ended("1 find", `mongo.CommandError "x"`, "network"),
	},
	{
		row: "pool cleared before the command asked for a connection", name: "upstream returns the error before it", plan: oneOf("find"),
		up:        ended("1 find", `mongo.CommandError "x"`, "network"),
		both:      []string{`pool a: ConnectionCheckOutFailed connectionError 0s E "pool was cleared because another operation failed with: x"`},
		laterFork: []string{asks},
	},
	{
		row: "deprioritized servers", name: "the second retry", plan: in("sharded:2", oneOf("find")),
		up:   []string{"pool 127.0.0.1:27017: ConnectionCheckOutStarted  0s "},
		fork: []string{"pool 127.0.0.1:27018: ConnectionCheckOutStarted  0s "},
		both: []string{"1 event failed find", "2 event failed find", "3 event failed find"},
	},
	{
		not: true, name: "the first retry", plan: in("sharded:2", oneOf("find")),
		up:   []string{"pool 127.0.0.1:27017: ConnectionCheckOutStarted  0s "},
		fork: []string{"pool 127.0.0.1:27018: ConnectionCheckOutStarted  0s "},
		both: []string{"1 event failed find", "2 event failed find"},
	},
	{
		row: "commit and abort by `WithTransaction`", name: "it ends what a monitor runs", at: time.Second,
		plan: oneOf("withTransaction", "timeoutMS=50"), fork: ended("1001 monitor", `E "x"`, "timeout, context deadline exceeded"),
	},
	{
		not: true, name: "it ends what a monitor runs too early", at: time.Millisecond,
		plan: oneOf("withTransaction", "timeoutMS=50"), fork: ended("1001 monitor", `E "x"`, "timeout, context deadline exceeded"),
	},
	{
		row: "`WithTransaction`, client-level timeout without a deadline", name: "it begins again", at: time.Second,
		plan: oneOf("withTransaction", "timeoutMS=50"), up: []string{inserts0},
		fork: ended("1 withTransaction", `mongo.CommandError "x"`, "timeout, context deadline exceeded, TransientTransactionError"),
	},
	{
		not: true, name: "there is time to begin again", at: time.Millisecond,
		plan: oneOf("withTransaction", "timeoutMS=50"), up: []string{inserts0},
		fork: ended("1 withTransaction", `mongo.CommandError "x"`, "timeout, context deadline exceeded, TransientTransactionError"),
	},
	{
		row: "a commit of unknown result that was sent", name: "a commit after one that was not sent", plan: oneOf("transaction"),
		up:   []string{`server a sees commitTransaction: 1, writeConcern: {"w": "majority"}, lsid: 1`},
		fork: []string{`server a sees commitTransaction: 1, lsid: 1`},
		both: []string{`event failed commitTransaction after 0s: E "x" timeout, context deadline exceeded`},
	},
	{
		not: true, name: "a commit after one that was sent", plan: oneOf("transaction"),
		up:   []string{`server a sees commitTransaction: 1, writeConcern: {"w": "majority"}, lsid: 1`},
		fork: []string{`server a sees commitTransaction: 1, lsid: 1`},
		both: []string{`event failed commitTransaction after 1ms: E "x" timeout, context deadline exceeded`},
	},
	{
		row: "reauthentication (code 391)", name: "a change stream", up: ended("1 watch", `E "panic: x"`, ""),
		plan: Plan{Faults: []Fault{{What: Error, Code: 391}}}, fork: []string{"event started aggregate of call 1 watch"},
	},
	{
		not: true, name: "another panic", up: ended("1 watch", `E "panic: x"`, ""),
		plan: Plan{Faults: []Fault{{What: Error, Code: 91}}}, fork: []string{"event started aggregate of call 1 watch"},
	},
	{
		row: "a commit of unknown result that was sent", name: "what a monitor runs is no commit",
		plan: Plan{Monitor: Monitor{Asks: 1}, Calls: []Call{{ID: 1, Kind: "transaction"}}},
		up:   []string{`server a sees count: "c", writeConcern: {"w": "majority"}, lsid: 1`},
		fork: []string{`server a sees count: "c", lsid: 1`},
	},
	{
		row: "`WithTransaction`, client-level timeout without a deadline", name: "a commit",
		plan: Plan{Options: []string{"timeoutMS=50"}},
		up:   []string{`server a sees commitTransaction: 1, writeConcern: {"w": "majority","wtimeout": 10000}, lsid: 1`},
		fork: []string{`server a sees commitTransaction: 1, writeConcern: {"w": "majority"}, lsid: 1, maxTimeMS: 1500`},
	},
	{
		not: true, name: "a commit without a majority", plan: Plan{Options: []string{"timeoutMS=50"}},
		up:   []string{`server a sees commitTransaction: 1, writeConcern: {"w": "majority","wtimeout": 10000}, lsid: 1`},
		fork: []string{`server a sees commitTransaction: 1, lsid: 1, maxTimeMS: 1500`},
	},
	{
		row: "write concern error of a batch, none in the next", name: "it is kept",
		up: []string{"call 1 bulkWrite returns {1}, no error"},
		fork: ended("1 bulkWrite", `mongo.BulkWriteException "bulk write exception: write concern error: x"`, "", "detail bulk",
			"returns {1}, an error"),
	},
	{
		not: true, name: "another result", up: []string{"call 1 bulkWrite returns {1}, no error"},
		fork: ended("1 bulkWrite", `mongo.BulkWriteException "bulk write exception: write concern error: x"`, "", "detail bulk",
			"returns {2}, an error"),
	},
	{
		not: true, name: "another error", up: []string{"call 1 bulkWrite returns {1}, no error"},
		fork: ended("1 bulkWrite", `mongo.CommandError "x"`, "", "detail command", "returns {1}, an error"),
	},
}

func TestReasons(t *testing.T) {
	t.Parallel()
	for _, tt := range reasons {
		t.Run(strings.TrimSpace(tt.row+" "+tt.name), func(t *testing.T) {
			t.Parallel()
			reason := Reason(tt.instant())
			if tt.not {
				assert.Nil(t, reason)
				return
			}
			require.NotNil(t, reason)
			assert.Equal(t, tt.row, reason.Row)
		})
	}
}

// TestReasonsOfSeveralCalls is about calls that end at one instant: each needs a reason.
func TestReasonsOfSeveralCalls(t *testing.T) {
	t.Parallel()
	interrupted := func(call, up, fork string) example {
		return example{up: ended(call, `T "`+up+`"`, ""), fork: ended(call, `T "`+fork+`"`, "timeout")}
	}
	one, other := interrupted("1 find", "x", "x: no time for a retry: y"), interrupted("2 find", "x", "x: no time for a retry: y")
	both := func(a, b example) Instant {
		return example{up: with(a.up, b.up...), fork: with(a.fork, b.fork...)}.instant()
	}
	assert.Nil(t, Reason(both(one, other)))
	assert.Len(t, Reasons(both(one, other)), 2)
	assert.Len(t, Reasons(one.instant()), 1)
	assert.Empty(t, Reasons(both(one, interrupted("2 find", "x", "z"))))
	assert.Empty(t, Reasons(example{up: []string{"server a sees ping"}}.instant()))
}

// TestEveryReasonIsTried wants an instant for each difference that it explains, and that none before it does.
func TestEveryReasonIsTried(t *testing.T) {
	t.Parallel()
	tried := map[*Difference]bool{}
	for _, tt := range reasons {
		tried[Reason(tt.instant())] = true
	}
	for n := range Differences {
		assert.True(t, tried[&Differences[n]] || Differences[n].Hide != nil, "difference %d, %s", n, Differences[n].Row)
	}
}

// TestNewPool is about the events of pools whose server is not yet known.
func TestNewPool(t *testing.T) {
	t.Parallel()
	r := newRecorder(true, true)
	assert.True(t, r.isNew("a:1"))
	r.meets("a:1", "Unknown")
	assert.True(t, r.isNew("a:1"))
	r.meets("a:1", "Mongos")
	r.known["a:1"] = r.known["a:1"].Add(-1)
	assert.False(t, r.isNew("a:1"))
	r.meets("a:1", "Unknown")
	assert.False(t, r.isNew("a:1"), "it was known")
	assert.True(t, r.isNew("b:1"))
}
