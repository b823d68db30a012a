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
	selection = `server selection error: x`
	expired   = "timeout, context deadline exceeded"
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

	{"a write of several commands, of which some fail", "an error of another package", under(time.Second, of("clientBulkWrite")), nil,
		ended(`driver.WriteCommandError "write command error: [{write errors: []}, {x}]"`, "RetryableWriteError", "detail"),
		ended(`mongo.ClientBulkWriteException "bulk write exception: write concern errors: [x]: no time for a retry: y"`, "timeout",
			"detail client bulk")},
	{"a write of several commands, of which some fail", "an error of one command", of("bulkWrite"), nil,
		ended(`mongo.CommandError "x"`, ""), ended(`mongo.BulkWriteException "bulk write exception: x"`, "")},
	{"", "without the cause", of("clientBulkWrite"), nil,
		ended(`driver.WriteCommandError "write command error: [{write errors: []}, {lost}]"`, "RetryableWriteError", "detail"),
		ended(`mongo.ClientBulkWriteException "bulk write exception: no causes"`, "timeout", "detail client bulk")},
	{"the client's Timeout, `Collection.BulkWrite` of several commands", "less is left", of("bulkWrite", "timeoutMS=10000"), nil,
		l(`a sees update: "c", maxTimeMS: {"$numberLong":"10000"}, $db`), l(`a sees update: "c", maxTimeMS: {"$numberLong":"9998"}, $db`)},
	{"", "another update", of("bulkWrite", "timeoutMS=10000"), nil,
		l(`a sees update: "c", maxTimeMS: {"$numberLong":"10000"}, $db`), l(`a sees update: "d", maxTimeMS: {"$numberLong":"9998"}, $db`)},
	{"", "with a label of one command", of("bulkWrite"), nil,
		ended(`mongo.CommandError "x"`, ""), ended(`mongo.BulkWriteException "bulk write exception: x"`, "RetryableError")},

	{"pool cleared before the command asked for a connection", "a retry", of("find"), nil,
		ended(`topology.poolClearedError "`+cleared+`"`, ""), l(next, "started find")},
	{"pool cleared before the command asked for a connection", "the error before it", of("find"), nil,
		ended(`mongo.CommandError "x"`, "network", unfit), l(unfit, next, "started find")},

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
	{"", "upstream has no time", under(time.Second, of("clientBulkWriteMany")), nil, l(next, "is timeout", "returns 1, an error"),
		l("started getMore", next, "returns 2, no error")},
	{"client bulk write, reading its results with getMore", "no server for the next",
		failing(trial.Fault{What: trial.Concern, On: "bulkWrite"}, of("clientBulkWrite")), nil,
		l("started bulkWrite"), l(next, `error E "bulk write exception: write concern errors: [x]"`, "returns 1, an error")},
	{"client bulk write, reading its results with getMore", "upstream fails", in("loadbalanced:1", of("clientBulkWrite")), nil,
		ended(`E "an inserted document is too large"`, ""), l("started getMore")},
	{"", "upstream fails without a load balancer", of("clientBulkWrite"), nil,
		ended(`E "an inserted document is too large"`, ""), l("started getMore")},
	{"write concern error of a batch, none in the next", "it is kept", failing(trial.Fault{What: trial.Concern},
		of("bulkWrite")), nil, l("returns {1}, no error"),
		l(`error mongo.BulkWriteException "bulk write exception: write concern error: x"`, "is ", "returns {1}, an error")},
	{"write concern error of a batch, none in the next", "of documents", failing(trial.Fault{What: trial.Concern},
		of("insertMany")), nil, l("returns {1}, no error"),
		l(`error mongo.BulkWriteException "bulk write exception: write concern error: x"`, "is ", "returns {1}, an error")},
	{"write concern error of a batch, none in the next", "beside write errors", failing(trial.Fault{What: trial.Concern},
		of("bulkWrite")), nil,
		l(`error mongo.BulkWriteException "bulk write exception: write errors: [x]"`, "is ", "returns {1}, an error"),
		l(`error mongo.BulkWriteException "bulk write exception: write concern error: y, write errors: [x]"`, "is ",
			"returns {1}, an error")},
	{"write concern error of a batch, none in the next", "of what a change stream sees", failing(trial.Fault{What: trial.Concern},
		of("watch")), nil,
		l(`error *errors.joinError "bulk write exception: write errors: [x]"`, "is ", "returns 0, an error"),
		l(`error *errors.joinError "bulk write exception: write concern error: y, write errors: [x]"`, "is ",
			"returns 0, an error")},
	{"", "beside other write errors", failing(trial.Fault{What: trial.Concern},
		of("bulkWrite")), nil,
		l(`error mongo.BulkWriteException "bulk write exception: write errors: [x]"`, "is ", "returns {1}, an error"),
		l(`error mongo.BulkWriteException "bulk write exception: write concern error: y, write errors: [z]"`, "is ",
			"returns {1}, an error")},
	{"", "without such a fault", of("bulkWrite"), nil, l("returns {1}, no error"),
		l(`error mongo.BulkWriteException "bulk write exception: write concern error: x"`, "is ", "returns {1}, an error")},
	{"", "another result of a batch", failing(trial.Fault{What: trial.Concern},
		of("bulkWrite")), nil, l("returns {1}, no error"),
		l(`error mongo.BulkWriteException "bulk write exception: write concern error: x"`, "is ", "returns {2}, an error")},
	{"malformed sizes, lengths, indexes and cursors in replies", "no cursor",
		failing(trial.Fault{What: trial.Lack, Field: "cursor.id"}, of("find")), nil, l("returns 2, no error"),
		ended(`E "malformed reply: the cursor has no id"`, "")},
	{"", "nothing lacks", of("find"), nil, l("returns 2, no error"), ended(`E "malformed reply: the cursor has no id"`, "")},
	{"a compressor fails, or the connection is closed before the command is sent", "its event", of("find"), nil, nil,
		l(`failed find at once: topology.ConnectionError "connection(<closed>) connection is closed" `)},
	{"a compressor fails, or the connection is closed before the command is sent", "and both end", of("find"), nil,
		ended(`E "x"`, expired),
		ended(`E "x"`, expired, `failed find at once: topology.ConnectionError "connection(<closed>) connection is closed" `)},
	{"", "and end otherwise", of("find"), nil, ended(`E "x"`, expired),
		ended(`E "y"`, expired, `failed find at once: topology.ConnectionError "connection(<closed>) connection is closed" `)},
	{"", "another event", of("find"), nil, nil, l(`failed find at once: topology.ConnectionError "EOF" `)},
}

// TestStrays: a call that goes on, and ends otherwise, may do so where faults are for others.
func TestStrays(t *testing.T) {
	t.Parallel()
	alone, others := of("watch"), of("watch")
	others.Calls = append(others.Calls, trial.Call{ID: 2, Worker: 1})
	for strays, plan := range map[bool]scene{true: alone, false: others} {
		up, fork := example{scene: plan, up: append(l("started aggregate", next), ended("E", "network")...),
			fork: l(next, "started aggregate", "returns 1, no error")}.traces()
		for group := range trial.Instants(plan.Plan, up, fork, moment) {
			assert.Equal(t, strays, group[0].Strays())
			break
		}
	}
}
