package main

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/lab/virtual/trial"
)

// example is an instant of a call: what both drivers show until then, and what either does from then on.
type example struct {
	row, name        string // what explains it; empty if nothing does
	scene            scene
	before, up, fork []string
}

// scene is a plan and the number of a call.
type scene struct {
	trial.Plan
	call int
}

// next begins what is later.
const next = "…"

// traces are the example's.
func (e example) traces() (up, fork trial.Trace) {
	trace := func(texts []string) (t trial.Trace) {
		for _, text := range e.before {
			t.Lines = append(t.Lines, trial.Line{Call: e.scene.call, Text: text})
		}
		now := 10 * time.Millisecond
		for _, text := range texts {
			if text == next {
				now += time.Second
				continue
			}
			t.Lines = append(t.Lines, trial.Line{At: now, Call: e.scene.call, Text: text})
		}
		return t
	}
	return trace(e.up), trace(e.fork)
}

// reason returns what explains the first instant at which the traces differ.
func (e example) reason(t *testing.T) *trial.Difference {
	t.Helper()
	up, fork := e.traces()
	for group := range trial.Instants(e.scene.Plan, up, fork, moment) {
		return trial.Reason(&group[0])
	}
	require.Fail(t, "the traces are the same")
	return nil
}

// l is a list of lines.
func l(lines ...string) []string { return lines }

// ended are the lines of a call's end.
func ended(err, is string, others ...string) []string {
	return append([]string{"error " + err, "is " + is, "returns <nil>, an error"}, others...)
}

// of is a plan with one call; in, under, failing and by change it: topology, deadline, fault, and which call the lines are of.
func of(kind string, options ...string) scene {
	return scene{trial.Plan{Options: options, Calls: []trial.Call{{ID: 1, Kind: kind}}}, 1}
}

func in(topology string, s scene) scene {
	s.Topology = topology
	return s
}

func under(deadline time.Duration, s scene) scene {
	s.Calls[0].Deadline = deadline
	return s
}

func failing(f trial.Fault, s scene) scene {
	s.Faults = []trial.Fault{f}
	return s
}

func by(call int, s scene) scene {
	s.call = call
	return s
}

// TestReasons is about each difference: an instant that it explains, and one like it that nothing explains.
func TestReasons(t *testing.T) {
	t.Parallel()
	tried := map[*trial.Difference]bool{}
	for _, e := range slices.Concat(examplesOfCalls, examplesOfTransactions, examplesOfCommits) {
		t.Run(e.row+" "+e.name, func(t *testing.T) {
			reason := e.reason(t)
			tried[reason] = true
			if e.row == "" {
				assert.Nil(t, reason)
			} else if assert.NotNil(t, reason) {
				assert.Equal(t, e.row, reason.Row)
			}
		})
	}
	for n := range trial.Differences {
		assert.True(t, tried[&trial.Differences[n]], "difference %d, %s", n, trial.Differences[n].Row)
	}
}

const (
	starts    = "started insert"
	cleared   = "connection pool for a was cleared because another operation failed with: x"
	unfit     = `(no connection: connectionError topology.poolClearedError "` + cleared + `"`
	overload  = " network, SystemOverloadedError, RetryableError"
	unmade    = `(no connection: connectionError E "during connection handshake: x"`
	handshake = `E "during connection handshake: x"`
	selection = `server selection error: x`
	expired   = "timeout, context deadline exceeded"

	foundAgain = "server a: Unknown to Mongos"
)

var examplesOfCalls = []example{
	{"the deadline passes, or the context is cancelled, before a retry is sent", "the context's error", under(time.Second,
		of("insertOne")),
		nil,
		ended(`T "x"`, "RetryableWriteError"), ended(`T "x: no time for a retry: y"`, "timeout, RetryableWriteError")},
	{"the deadline passes, or the context is cancelled, before a retry is sent", "of a type that wraps", under(time.Second,
		of("insertOne")),
		nil,
		ended(`T "x"`, ""), ended(`backpressure.Interruption "x: no time for a retry: y"`, expired)},
	{"the deadline passes, or the context is cancelled, before a retry is sent", "during its backoff", under(time.Second,
		of("insertOne")),
		nil, ended(`T "x"`, ""), ended(`T "x: interrupted during the backoff before a retry: y"`, expired)},
	{"", "nothing could end it", of("findOne"), nil, ended(`T "x"`, ""),
		ended(`T "x: no time for a retry: context deadline exceeded"`, expired)},
	{"", "the text is lost", under(time.Second, of("insertOne")), nil, ended(`T "(NotWritablePrimary) x"`, "RetryableWriteError"),
		ended(`T ": no time for a retry: y"`, "timeout, RetryableWriteError")},
	{"the deadline passes, or the context is cancelled, before a retry is sent", "the context's error alone", of("find"),
		l(`failed find: E "x" network`),
		ended(`context.deadlineExceededError "context deadline exceeded"`, expired),
		ended(`T "x: no time for a retry: context deadline exceeded"`, expired+", network")},
	{"the deadline passes, or the context is cancelled, before a retry is sent", "and no connection", of("find"), l(unfit),
		ended(`*errors.errorString "context canceled"`, "context canceled"),
		ended(`T "x: no time for a retry: context canceled"`, "context canceled")},
	{"", "the context's error alone, and no attempt", of("find"), nil,
		ended(`context.deadlineExceededError "context deadline exceeded"`, expired),
		ended(`T "x: no time for a retry: context deadline exceeded"`, expired+", network")},
	{"", "of another type", of("insertOne"), nil, ended(`T "x"`, ""), ended(`U "x: no time for a retry: y"`, "timeout")},
	{"", "another error", of("insertOne"), nil, ended(`T "z"`, ""), ended(`T "x: no time for a retry: y"`, "timeout")},
	{"", "a label is lost", of("insertOne"), nil, ended(`T "x"`, "RetryableWriteError"), ended(`T "x: no time for a retry: y"`,
		"timeout")},
	{"", "a label is new", of("insertOne"), nil, ended(`T "x"`, ""), ended(`T "x: no time for a retry: y"`,
		"timeout, NoWritesPerformed")},
	{"", "a command", of("insertOne"), nil, ended(`T "x"`, ""), ended(`T "x: no time for a retry: y"`, "timeout", starts)},
	{"", "details are lost", of("insertOne"), nil, ended(`T "x"`, "", "detail write 91"),
		ended(`T "x: no time for a retry: y"`, "timeout", "detail write 64")},
	{"", "a success", of("insertOne"), nil, ended(`T "x"`, ""), l("returns {}, no error")},

	{"an interrupted write of many documents", "the result of insertMany", of("insertMany", "timeoutMS=50"), nil,
		l(`error *fmt.wrapError "x: context deadline exceeded"`, "is timeout", "returns <nil>, an error"),
		l(`error backpressure.Interruption "y: no time for a retry: x: context deadline e"`, "is timeout, RetryableWriteError",
			"returns &{InsertedIDs:[20 21] Acknowledged:true}, an error")},
	{"an interrupted write of many documents", "its result", under(time.Second, of("bulkWrite")), nil,
		l(`error E "x"`, "is timeout", "returns &{UpsertedCount:1 Acknowledged:false}, an error"),
		l(`error E "y: no time for a retry: x"`, "is timeout", "returns &{UpsertedCount:1 Acknowledged:true}, an error")},
	{"", "not acknowledged by the fork", of("bulkWrite"), nil,
		l(`error E "x"`, "is timeout", "returns &{UpsertedCount:1 Acknowledged:true}, an error"),
		l(`error E "y: no time for a retry: x"`, "is timeout", "returns &{UpsertedCount:1 Acknowledged:false}, an error")},
	{"an interrupted write of many documents", "with the label of the attempt before", under(time.Second, of("bulkWrite")), nil,
		ended(`topology.ServerSelectionError "x"`, "timeout"),
		ended(`backpressure.Interruption "x: no time for a retry: y"`, "timeout, RetryableWriteError")},
	{"", "with any label", of("bulkWrite"), nil, ended(`topology.ServerSelectionError "x"`, "timeout"),
		ended(`backpressure.Interruption "x: no time for a retry: y"`, "timeout, TransientTransactionError", "detail command")},
	{"an interrupted write of many documents", "the indexes of its batch", under(time.Second, of("insertMany")), nil,
		ended(`T "x"`, "", "detail bulk <nil> [] 0 11000 of M"),
		ended(`T "x: no time for a retry: y"`, "timeout", "detail bulk <nil> [] 2 11000 of M")},
	{"", "write errors and results are lost", under(time.Second, of("insertMany")), nil,
		l(`error T "x"`, "is ", `detail bulk <nil> [] 3 11000 of M`, "returns &{InsertedIDs:[0 1 2] Acknowledged:true}, an error"),
		l(`error T "x: no time for a retry: y"`, "is timeout", `detail bulk <nil> []`, "returns <nil>, no error")},
	{"an interrupted write of many documents", "an error of another package", under(time.Second, of("clientBulkWrite")), nil,
		ended(`driver.WriteCommandError "write command error: [{write errors: []}, {x}]"`, "RetryableWriteError", "detail"),
		ended(`backpressure.Interruption "bulk write exception: write concern errors: [x]: no time for a retry: y"`, "timeout",
			"detail client bulk")},
	{"", "without the reason", of("clientBulkWrite"), nil,
		ended(`driver.WriteCommandError "write command error: [{write errors: []}, {x}]"`, "RetryableWriteError", "detail"),
		ended(`mongo.ClientBulkWriteException "bulk write exception: write concern errors: [x]"`, "timeout", "detail client bulk")},

	{"the deadline passes, or the context is cancelled, before a retry is sent", "a change stream's attempt", of("watch"), nil,
		ended(`E "context canceled"`, "context canceled", "started aggregate",
			`failed aggregate at once: E "context canceled" context canceled`),
		ended(`mongo.CommandError "x: context canceled"`, "context canceled")},
	{"", "a change stream's attempt that fails otherwise", of("watch"), nil,
		ended(`E "EOF"`, "", "started aggregate", `failed aggregate at once: E "EOF"`), ended(`mongo.CommandError "x"`,
			"context canceled")},
	{"no server or connection for a retry", "a change stream's", of("watch"), l(`failed aggregate: E "y"`),
		ended(`topology.ServerSelectionError "x"`, "timeout"), ended(`mongo.CommandError "y"`, "", `detail command 91`)},
	{"no server or connection for a retry", "a change stream's whose pool is cleared", of("watch"),
		l(`failed aggregate: E "y" network`),
		ended(`topology.poolClearedError "x"`, ""), ended(`mongo.CommandError "y"`, "network", `detail command 0`)},
	{"", "a find's", of("find"), nil, ended(`topology.ServerSelectionError "x"`, ""), ended(`mongo.CommandError "y"`, "",
		"detail command 91")},
	{"change streams, `retryReads=false` under a timeout", "only upstream retries", of("watch", "retryReads=false", "timeoutMS=300"),
		l(`failed aggregate: D "x" network`), l("started aggregate"), ended(`E "x"`, "")},
	{"change streams, `retryReads=false` under a timeout", "a connection that was closed", of("watch", "retryReads=false",
		"timeoutMS=300"),
		l(`failed aggregate at once: D "x" network`), l(next, "started aggregate"), ended(`E "x"`, "")},
	{"", "the fork has another error", of("watch", "retryReads=false", "timeoutMS=300"), l(`failed aggregate: D "x" network`),
		l("started aggregate"), ended(`E "y"`, "")},
	{"", "without a timeout", of("watch", "retryReads=false"), l(`failed aggregate: D "x"`), l("started aggregate"), ended(`E "x"`,
		"")},
	{"change streams, `retryReads=false` under a timeout", "upstream waits", under(time.Second, of("watch", "retryReads=false")),
		l(`failed aggregate: D "x"`), l(next, "is timeout", "returns <nil>, an error"), ended(`E "x"`, "")},
	{"change streams, `retryReads=false` under a timeout", "upstream gets no connection",
		under(time.Second, of("watch", "retryReads=false")),
		l(`failed aggregate: D "x"`), l(next, "(no connection: y", "is ", "returns <nil>, an error"), ended(`E "x"`, "")},
	{"", "upstream has the error later", under(time.Second, of("watch", "retryReads=false")), l(`failed aggregate: D "x"`),
		append(l(next), ended(`E "x"`, "")...), ended(`E "x"`, "")},
	{"", "the fork retries", of("watch", "retryReads=false", "timeoutMS=300"), l(`failed aggregate: D "x"`), ended(`E "x"`, ""),
		l("started aggregate")},

	{"deprioritized servers", "the second retry", in("sharded:2", of("find")), l("started find", "failed find: 1", "failed find: 2"),
		l("127.0.0.1:27017 sees find: 1"), l(next, "127.0.0.1:27018 sees find: 1")},
	{"deprioritized servers", "after two write concern errors",
		in("sharded:2", failing(trial.Fault{What: trial.Concern, On: "update"}, of("updateOne"))), l("succeeded update",
			"succeeded update"),
		l("127.0.0.1:27017 sees update: 1"), l(next, "127.0.0.1:27018 sees update: 1")},
	{"", "after one", in("sharded:2", failing(trial.Fault{What: trial.Concern, On: "update"}, of("updateOne"))), l("succeeded update"),
		l("127.0.0.1:27017 sees update: 1"), l(next, "127.0.0.1:27018 sees update: 1")},
	{"deprioritized servers", "a change stream's first retry", in("sharded:2", of("watch")), l("failed aggregate: 1"),
		l("started aggregate"), l(next, "started aggregate")},
	{"", "a change stream", in("sharded:2", of("watch")), nil, l("started aggregate"), l(next, "started aggregate")},
	{"", "the first retry", in("sharded:2", of("find")), l("started find", "failed find: 1"),
		l("127.0.0.1:27017 sees find: 1"), l(next, "127.0.0.1:27018 sees find: 1")},
	{"deprioritized servers", "a connection for the third command", in("sharded:2", of("find")), l("failed find: 1", "failed find: 2"),
		l("started find"), l(next, "started find")},
	{"", "a third command that is not sent", in("sharded:2", of("find")), l("failed find: 1", "failed find: 2"),
		l("started find"), l(next, "returns 1, no error")},
	{"", "a getMore", in("sharded:2", of("find")), l("failed find: 1", "failed find: 2"),
		l("127.0.0.1:27017 sees getMore: 7"), l("127.0.0.1:27018 sees getMore: 7")},
	{"", "a pinned commit", in("sharded:2", of("transaction")), l("failed find: 1", "failed find: 2"),
		l("127.0.0.1:27017 sees commitTransaction: 1"), l("127.0.0.1:27018 sees commitTransaction: 1")},
	{"", "another command", in("sharded:2", of("find")), l("started find", "failed find: 1", "failed find: 2"),
		l("127.0.0.1:27017 sees find: 1"), l(next, "127.0.0.1:27018 sees find: 2")},

	{"option: choice of one of two servers", "the other has failed",
		in("sharded:2", failing(trial.Fault{What: trial.Reset}, of("find", "adaptiveThrottling=true"))), nil,
		l(next, "started find", "127.0.0.1:27017 sees find: 1"), l("started find", "127.0.0.1:27018 sees find: 1")},
	{"", "none has", in("sharded:2", of("find", "adaptiveThrottling=true")), nil,
		l(next, "started find", "127.0.0.1:27017 sees find: 1"), l("started find", "127.0.0.1:27018 sees find: 1")},
	{"option: the server closes the connection of a heartbeat before it is established", "a reset",
		by(0, of("find", "adaptiveThrottling=true")), l("fault reset"), l(foundAgain), l(next, foundAgain)},
	{"", "before a reset", by(0, of("find", "adaptiveThrottling=true")), nil, l(foundAgain), l(next, foundAgain)},
	{"", "the fork finds none", by(0, of("find", "adaptiveThrottling=true")), l("fault reset"), l(foundAgain), nil},
	{"", "without throttling", by(0, of("find")), l("fault reset"), l(foundAgain), l(next, foundAgain)},
	{"a new pool", "for minPoolSize", by(0, of("find", "minPoolSize=1")),
		l(`(connection closed: E "during connection handshake: x" network`),
		l(foundAgain), l(next, foundAgain)},
	{"", "of no connection", by(0, of("find", "minPoolSize=1")), nil, l(foundAgain), l(next, foundAgain)},
	{"", "for nothing", by(0, of("find")), l(`(connection closed: E "during connection handshake: x" network`), l(foundAgain),
		l(next, foundAgain)},
	{"reauthentication (code 391)", "a retry's fails", failing(trial.Fault{What: trial.Error, Code: 391}, of("find")),
		l(`failed find: D "E" `, `failed find: D "F" `), ended(`*fmt.wrapError "error reauthenticating: x"`, ""),
		ended(`mongo.CommandError " E"`, "")},
	{"reauthentication (code 391)", "no server is left", failing(trial.Fault{Code: 391}, of("create")), nil,
		ended(`mongo.CommandError "(ReauthenticationRequired) x"`, "", "detail command 391 ReauthenticationRequired [] raw 1"),
		ended(`topology.ServerSelectionError "server selection error: x"`, "timeout")},
	{"", "another error with no server left", failing(trial.Fault{Code: 391}, of("create")), nil,
		ended(`mongo.CommandError "(NotMaster) x"`, "", "detail command 10107 NotMaster [] raw 1"),
		ended(`topology.ServerSelectionError "server selection error: x"`, "timeout")},
	{"", "the first one's fails", failing(trial.Fault{What: trial.Error, Code: 391}, of("find")),
		l(`failed find: D "F" `), ended(`*fmt.wrapError "error reauthenticating: x"`, ""), ended(`mongo.CommandError " E"`, "")},
	{"network error while a connection is established", "labels", of("find"), nil, ended(handshake, "network", unmade+" network"),
		l(unmade + overload)},
	{"network error while a connection is established", "and a cursor's end", of("watch"), nil,
		ended(handshake, "network", unmade+" network", "started killCursors"), l(unmade + overload)},
	{"network error while a connection is established", "its write", of("watch"), nil, ended(handshake, "network", unmade+" network"),
		ended(handshake, "network, RetryableWriteError, SystemOverloadedError, RetryableError", unmade+overload)},
	{"", "a read", of("find"), nil, ended(handshake, "network", unmade+" network"),
		ended(handshake, "network, RetryableWriteError, SystemOverloadedError, RetryableError", unmade+overload)},
	{"", "and another command", of("watch"), nil, ended(handshake, "network", unmade+" network", "started getMore"),
		l(unmade + overload)},
	{"", "the fork's command", of("find"), nil, ended(handshake, "network", unmade+" network"), l(unmade+overload, "started find")},
	{"", "no labels", of("find"), nil, ended(handshake, "network", unmade+" network"), l(unmade + " network")},
	{"", "the fork's result", of("find"), nil, ended(handshake, "network", unmade+" network"), l(unmade+overload,
		"returns 1, no error")},
	{"network error while a connection is established", "upstream's server", scene{}, nil,
		l(`(connection closed: E "during connection handshake: x" network`, "server a: RSPrimary to Unknown",
			"server a: RSPrimary to Unknown"),
		l(`(connection closed: E "during connection handshake: x"` + overload)},
	{"", "the fork's server", scene{}, nil, l(`(connection closed: E "during connection handshake: x" network`),
		l(`(connection closed: E "during connection handshake: x"`+overload, "server a: RSPrimary to Unknown")},
	{"labels for a refused hello", "the newest's", of("find"), nil,
		ended(handshake, "network, SystemOverloadedError, RetryableError",
			`(no connection: connectionError E "during connection handshake: (InterruptedDueToOverload) x"`+overload),
		ended(handshake, "SystemOverloadedError", "detail command 473 x")},
	{"labels for a refused hello", "with credentials", of("find"), nil,
		ended(handshake, "network, SystemOverloadedError, RetryableError",
			`(no connection: connectionError E "during connection handshake: handshake failure: (InterruptedDueToOverload) x"`+overload),
		ended(handshake, "SystemOverloadedError", "detail command 473 x")},
	{"", "not refused", of("find"), nil, ended(handshake, "network, SystemOverloadedError, RetryableError"),
		ended(handshake, "SystemOverloadedError", "detail command 473 x")},
	{"errors of establishing a connection", "the newest returns it", of("find"), nil, ended(handshake, "network", unmade+overload),
		nil},
	{"", "without labels", of("find"), nil, ended(handshake, "network", unmade+" network"), nil},
	{"that error, or one while a connection is established, in a transaction", "the label", of("abortedTransaction"), nil,
		ended(`E "`+cleared+`"`, ""), ended(`E "`+cleared+`"`, "TransientTransactionError", "detail command 0")},
	{"", "another error in a transaction", of("transaction"), nil, ended(`E "(BadValue) x"`, ""),
		ended(`E "(BadValue) x"`, "TransientTransactionError")},
	{"", "outside of one", of("find"), nil, ended(`E "`+cleared+`"`, ""), ended(`E "`+cleared+`"`, "NoWritesPerformed")},
	{"that error, or one while a connection is established, in a transaction", "a cursor's end", of("tailable"), nil,
		ended(`*errors.joinError "`+cleared+`"`, "TransientTransactionError"), ended(`*errors.joinError "`+cleared+`"`, "")},
	{"", "a cursor's label", of("tailable"), nil, ended(`*errors.joinError "x"`, "TransientTransactionError"),
		ended(`*errors.joinError "x"`, "")},
	{"pool cleared before the command asked for a connection", "a retry", of("find"), nil,
		ended(`topology.poolClearedError "`+cleared+`"`, ""), l(next, "started find")},
	{"pool cleared before the command asked for a connection", "the error before it", of("find"), nil,
		ended(`mongo.CommandError "x"`, "network", unfit), l(unfit, next, "started find")},
	{"pool cleared before the command asked for a connection", "another router", in("sharded:2", of("find")), l(unfit),
		l(next, "started find"), l("started find", next)},
	{"", "one router", of("find"), l(unfit), l(next, "started find"), l("started find", next)},
	{"", "no retry", of("find"), nil, ended(`topology.poolClearedError "`+cleared+`"`, ""), ended(`T "`+cleared+`"`, "")},
	{"`retryWrites=false`, client bulk write that finds the pool cleared", "only upstream sends it",
		of("clientBulkWrite", "retryWrites=false"), nil, l(unfit, next, "started bulkWrite"),
		ended(`topology.poolClearedError "`+cleared+`"`, "", unfit)},
	{"", "it may be sent", of("clientBulkWrite"), nil, l(unfit, next, "started bulkWrite"),
		ended(`topology.poolClearedError "`+cleared+`"`, "", unfit)},
	{"pool cleared before the command asked for a connection", "a monitor's", by(1001, of("transaction")), nil, l(next,
		"started count"),
		ended(`mongo.CommandError "`+cleared+`"`, "TransientTransactionError")},
	{"", "a monitor's, and upstream's, too", by(1001, of("transaction")), nil, nil,
		ended(`mongo.CommandError "`+cleared+`"`, "TransientTransactionError")},
	{"", "no retry, but a server's answer", of("insertOne"), nil, ended(`topology.poolClearedError "`+cleared+`"`, ""),
		ended(`mongo.WriteException "E11000 x"`, "RetryableWriteError")},
	{"", "another error than that", of("find"), nil, ended(`topology.poolClearedError "cleared"`, ""), nil},
	{"write without a connection, `retryWrites` on", "a write", of("insertOne"), nil,
		ended(`E "`+selection+`"`, "timeout"), ended(`E "`+selection+`"`, "timeout, RetryableWriteError")},
	{"", "a read", of("find"), nil, ended(`E "`+selection+`"`, "timeout"), ended(`E "`+selection+`"`, "timeout, RetryableWriteError")},
	{"", "a write that is not retried", of("insertOne", "retryWrites=false"), nil,
		ended(`E "`+selection+`"`, "timeout"), ended(`E "`+selection+`"`, "timeout, RetryableWriteError")},
	{"", "a write with a connection", of("insertOne"), nil,
		ended(`mongo.WriteException "(BadValue) during connection handshake"`, ""),
		ended(`mongo.WriteException "(BadValue) during connection handshake"`, "RetryableWriteError")},

	{"network error while a connection is established", "the next statement", of("bulkWrite"), l(unmade + overload),
		l("started delete"), nil},
	{"", "the next statement after another error", of("bulkWrite"), l(unmade), l("started delete"), nil},

	{"client bulk write, reading its results with getMore", "sooner", of("clientBulkWriteMany"), nil,
		l(next, "started getMore", "returns 1, no error"), l("started getMore", next, "returns 1, no error")},
	{"client bulk write, reading its results with getMore", "upstream's connection is closed",
		failing(trial.Fault{What: trial.Drop, On: "getMore"}, of("clientBulkWriteMany")), nil,
		l(next, "failed bulkWrite: E network", "returns 1, no error"), l("started getMore", next, "returns 2, no error")},
	{"", "another result", of("clientBulkWriteMany"), nil,
		l(next, "started getMore", "returns 1, no error"), l("started getMore", next, "returns 2, no error")},
	{"", "a command too many", of("clientBulkWriteMany"), nil,
		l(next, "started getMore", "returns 1, no error"), l("started getMore", "started getMore", next, "returns 1, no error")},
	{"client bulk write, reading its results with getMore", "upstream waits for ever", of("clientBulkWriteMany", "maxPoolSize=1"), nil,
		l(next, `(no connection: timeout x`, "returns 1, an error"), l("started getMore", next, "returns 2, no error")},
	{"client bulk write, reading its results with getMore", "upstream has no time", under(time.Second, of("clientBulkWriteMany")), nil,
		l(next, "is timeout", "returns 1, an error"), l("started getMore", next, "returns 2, no error")},
	{"client bulk write, reading its results with getMore", "no connection in time", under(time.Second, of("clientBulkWriteMany")), nil,
		ended(`E "calculated server-side timeout"`, expired), ended(`topology.WaitQueueTimeoutError "x"`, expired)},
	{"", "no connection, and no timeout", under(time.Second, of("clientBulkWriteMany")), nil,
		ended(`E "calculated server-side timeout"`, expired), ended(`topology.WaitQueueTimeoutError "x"`, "")},
	{"client bulk write, reading its results with getMore", "the next batch meets another router", in("sharded:2",
		of("clientBulkWrite")),
		l("started bulkWrite", "started bulkWrite"), l("127.0.0.1:27017 sees bulkWrite: 1", "succeeded bulkWrite"),
		l("succeeded bulkWrite", next, "127.0.0.1:27018 sees bulkWrite: 1")},
	{"", "the first batch does", in("sharded:2", of("clientBulkWrite")),
		l("started bulkWrite"), l("127.0.0.1:27017 sees bulkWrite: 1", "succeeded bulkWrite"),
		l("succeeded bulkWrite", next, "127.0.0.1:27018 sees bulkWrite: 1")},
	{"client bulk write, reading its results with getMore", "no server for the next",
		failing(trial.Fault{What: trial.Concern, On: "bulkWrite"}, of("clientBulkWrite")), nil,
		l("started bulkWrite"), l(next, `error E "bulk write exception: write concern errors: [x]"`, "returns 1, an error")},
	{"client bulk write, reading its results with getMore", "upstream fails", in("loadbalanced:1", of("clientBulkWrite")), nil,
		ended(`E "an inserted document is too large"`, ""), l("started getMore")},
	{"", "upstream fails without a load balancer", of("clientBulkWrite"), nil,
		ended(`E "an inserted document is too large"`, ""), l("started getMore")},
	{"`RetryOnce` with several batches", "the second batch's retry",
		failing(trial.Fault{What: trial.Concern, On: "bulkWrite"}, of("clientBulkWriteMany")),
		l("a sees bulkWrite: 1", "succeeded bulkWrite", "a sees bulkWrite: 1", "succeeded bulkWrite", "a sees bulkWrite: 2",
			"succeeded bulkWrite"),
		l("a sees bulkWrite: 3"), l("a sees bulkWrite: 2", next, "a sees bulkWrite: 3")},
	{"", "the third batch's first attempt", failing(trial.Fault{What: trial.Concern, On: "bulkWrite"}, of("clientBulkWriteMany")),
		l("a sees bulkWrite: 1", "succeeded bulkWrite", "a sees bulkWrite: 1", "succeeded bulkWrite", "a sees bulkWrite: 2",
			"succeeded bulkWrite"),
		l("a sees bulkWrite: 3"), l("a sees bulkWrite: 4", next, "a sees bulkWrite: 3")},
	{"", "the first batch's retry", failing(trial.Fault{What: trial.Concern, On: "bulkWrite"}, of("clientBulkWriteMany")),
		l("a sees bulkWrite: 1", "succeeded bulkWrite"), l("a sees bulkWrite: 2"),
		l("a sees bulkWrite: 1", next, "a sees bulkWrite: 2")},
	{"write concern error of a batch, none in the next", "it is kept", of("bulkWrite"), nil, l("returns {1}, no error"),
		l(`error mongo.BulkWriteException "bulk write exception: write concern error: x"`, "is ", "returns {1}, an error")},
	{"write concern error of a batch, none in the next", "of documents", of("insertMany"), nil, l("returns {1}, no error"),
		l(`error mongo.BulkWriteException "bulk write exception: write concern error: x"`, "is ", "returns {1}, an error")},
	{"write concern error of a batch, none in the next", "beside write errors", of("bulkWrite"), nil,
		l(`error mongo.BulkWriteException "bulk write exception: write errors: [x]"`, "is ", "returns {1}, an error"),
		l(`error mongo.BulkWriteException "bulk write exception: write concern error: y, write errors: [x]"`, "is ",
			"returns {1}, an error")},
	{"write concern error of a batch, none in the next", "of what a change stream sees", of("watch"), nil,
		l(`error *errors.joinError "bulk write exception: write errors: [x]"`, "is ", "returns 0, an error"),
		l(`error *errors.joinError "bulk write exception: write concern error: y, write errors: [x]"`, "is ",
			"returns 0, an error")},
	{"", "beside other write errors", of("bulkWrite"), nil,
		l(`error mongo.BulkWriteException "bulk write exception: write errors: [x]"`, "is ", "returns {1}, an error"),
		l(`error mongo.BulkWriteException "bulk write exception: write concern error: y, write errors: [z]"`, "is ",
			"returns {1}, an error")},
	{"", "another result of a batch", of("bulkWrite"), nil, l("returns {1}, no error"),
		l(`error mongo.BulkWriteException "bulk write exception: write concern error: x"`, "is ", "returns {2}, an error")},
	{"malformed sizes, lengths, indexes and cursors in replies", "no cursor",
		failing(trial.Fault{What: trial.Lack, Field: "cursor.id"}, of("find")), nil, l("returns 2, no error"),
		ended(`E "malformed reply: the cursor has no id"`, "")},
	{"", "nothing lacks", of("find"), nil, l("returns 2, no error"), ended(`E "malformed reply: the cursor has no id"`, "")},
	{"reauthentication (code 391)", "a change stream", failing(trial.Fault{Code: 391}, of("watch")), nil, ended(`E "panic: x"`, ""),
		l("started aggregate")},
	{"", "another panic", failing(trial.Fault{Code: 91}, of("watch")), nil, ended(`E "panic: x"`, ""), l("started aggregate")},
	{"a compressor fails, or the connection is closed before the command is sent", "its event", of("find"), nil, nil,
		l(`failed find at once: topology.ConnectionError "connection(<closed>) connection is closed" `)},
	{"a compressor fails, or the connection is closed before the command is sent", "and both end", of("find"), nil,
		ended(`E "x"`, expired),
		ended(`E "x"`, expired, `failed find at once: topology.ConnectionError "connection(<closed>) connection is closed" `)},
	{"", "and end otherwise", of("find"), nil, ended(`E "x"`, expired),
		ended(`E "y"`, expired, `failed find at once: topology.ConnectionError "connection(<closed>) connection is closed" `)},
	{"", "another event", of("find"), nil, nil, l(`failed find at once: topology.ConnectionError "EOF" `)},
}

// TestStrays: a call that goes on, and ends otherwise, does so where only one of the drivers is at the router whose connections break.
func TestStrays(t *testing.T) {
	t.Parallel()
	reset := failing(trial.Fault{What: trial.Reset}, of("watch"))
	for topology, strays := range map[string]bool{"sharded:2": false, "sharded:1": true} {
		up, fork := example{scene: in(topology, reset), up: append(l("started aggregate", next), ended("E", "network")...),
			fork: l(next, "started aggregate", "returns 1, no error")}.traces()
		for group := range trial.Instants(in(topology, reset).Plan, up, fork, moment) {
			assert.Equal(t, strays, group[0].Strays(), topology)
			break
		}
	}
}
