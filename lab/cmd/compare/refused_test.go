package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"mongofork/lab/virtual/trial"
)

const transientLabel = "TransientTransactionError"

// refused are instants like those that a difference explains, but for what their names say.
var refused = []example{
	{"", "clearedPool: second commit transient", by(2001, committed), nil,
		ended(`topology.poolClearedError "`+cleared+`"`, ""), ended(`mongo.CommandError "x connection("`, transientLabel,
			"detail command 0")},
	{"", "thatError2: both labels", of("transaction"),
		l("succeeded update", `failed commitTransaction: mongo.CommandError "(NoSuchTransaction) x" TransientTransactionError`),
		ended(`mongo.CommandError "(NoSuchTransaction) x"`, "RetryableWriteError, "+transientLabel),
		ended(`mongo.CommandError "(NoSuchTransaction) x"`,
			"RetryableWriteError, "+transientLabel+", UnknownTransactionCommitResult")},
	{"", "thatError2: unauthorized", of("transaction"), l(`failed commitTransaction: mongo.CommandError "(Unauthorized) x" `),
		ended(`mongo.CommandError "(Unauthorized) x"`, ""), ended(`mongo.CommandError "(Unauthorized) x"`,
			"UnknownTransactionCommitResult")},
	{"", "thatError3: both labels", under(time.Second, of("transaction")),
		l(`failed commitTransaction: mongo.CommandError "(NoSuchTransaction) x" TransientTransactionError`),
		ended(`E "(NoSuchTransaction) x"`, transientLabel), ended(`E "(NoSuchTransaction) x: no time for a retry: y"`,
			expired+", "+transientLabel+", UnknownTransactionCommitResult")},
	{"", "unpinned: the majority is lost", in("loadbalanced:1", of("transaction")), l(commitFails),
		l(`127.0.0.1:27017 sees commitTransaction: 1, writeConcern: {"w": "majority","wtimeout": {"$numberLong":"5"}}, lsid: 1`),
		l("127.0.0.1:27018 sees commitTransaction: 1, lsid: 1", next, commits)},
	{"", "retries: the majority is lost", of("transaction", "timeoutMS=50"), l(commitFails),
		l(`a sees commitTransaction: 1, writeConcern: {"w": "majority","wtimeout": {"$numberLong":"10000"}}, lsid: 1`),
		l("a sees commitTransaction: 1, lsid: 1", next, commits)},
	{"", "unknown: the majority is lost", of("transaction"), l(commitFails),
		l(commits, `a sees commitTransaction: 1, writeConcern: {"w": "majority","wtimeout": {"$numberLong":"10000"}}, lsid: 1`),
		l(next, commits, "a sees commitTransaction: 1, lsid: 1")},
	{"", "by WithTransaction: the majority is lost", of(within), l(commitFails),
		l(commits, `a sees commitTransaction: 1, writeConcern: {"w": "majority","wtimeout": {"$numberLong":"10000"}}, lsid: 1`),
		l(next, commits, "a sees commitTransaction: 1, lsid: 1")},
	{"", "unknown: the fork loses the label", of("transaction"), l(commitFails), l(commits),
		append(l(next), ended(`E "`+selection+`"`, "timeout")...)},
	{"", "retries: gives up with any error", of("transaction", "timeoutMS=5000"), l(commitFails), l(commits),
		append(l(next), ended(`E "x"`, "")...)},
	{"", "cleared: a read is not retried", of("find"), nil, ended(`topology.poolClearedError "`+cleared+`"`, ""),
		ended(`T "`+cleared+`"`, "timeout")},
	{"", "cleared: a read gets a write's label", of("find"), nil, ended(`topology.poolClearedError "`+cleared+`"`, ""),
		ended(`T "`+cleared+`"`, "RetryableWriteError")},
	{"", "cleared: a write is not retried", of("insertOne"), nil, ended(`topology.poolClearedError "`+cleared+`"`, "", unfit),
		ended(`T "`+cleared+`"`, "RetryableWriteError", unfit)},
	{"", "cleared: the second command of a transaction is retried", of("transaction"), l("succeeded insert"),
		ended(`topology.poolClearedError "`+cleared+`"`, ""),
		l(next, "started update")},
	{"", "context's error alone: labels of others", of("findOne"), l("failed find: E"),
		ended(`context.deadlineExceededError "context deadline exceeded"`, expired),
		ended(`T "x: no time for a retry: context deadline exceeded"`,
			expired+", RetryableWriteError, TransientTransactionError")},
	{"", "context's error alone: a label of commits", under(time.Second, of("insertOne")), l(`failed insert: E "x" network`),
		ended(`context.deadlineExceededError "context deadline exceeded"`, expired),
		ended(`T "x: no time for a retry: context deadline exceeded"`, expired+", network, UnknownTransactionCommitResult")},
	{"", "context's error alone: another error", of("findOne"), l(`failed find: E "y"`),
		ended(`context.deadlineExceededError "context deadline exceeded"`, expired),
		ended(`T "x: no time for a retry: context deadline exceeded"`, expired)},
	{"", "client bulk: any labels", of("clientBulkWrite"), nil,
		ended(`driver.WriteCommandError "write command error: [{write errors: []}, {x}]"`, "", "detail"),
		ended(`backpressure.Interruption "bulk write exception: write concern errors: [x]: no time for a retry: y"`,
			"timeout, TransientTransactionError, NoWritesPerformed",
			"detail client bulk")},
	{"", "write concern error: any labels", of("bulkWrite"), nil, l("returns {1}, no error"),
		l(`error mongo.BulkWriteException "bulk write exception: write concern error: x"`,
			"is timeout, NoWritesPerformed, TransientTransactionError", "returns {1}, an error")},
	{"", "before retry: text cut", under(time.Second, of("insertOne")), nil, ended(`T "(NotWritablePrimary) x"`,
		"RetryableWriteError"),
		ended(`T "(N: no time for a retry: y"`, "timeout, RetryableWriteError")},
	{"", "before retry: cancelled without cancel", of("insertOne", "timeoutMS=50"), nil, ended(`T "x"`, "RetryableWriteError"),
		ended(`T "x: no time for a retry: y"`, "context canceled, RetryableWriteError")},
	{"", "before retry: no deadline", of("bulkWrite"), nil, ended(`T "x"`, ""), ended(`T "x: no time for a retry: y"`, "timeout")},
	{"", "between: no abort", of(within), l(starts), l(aborts), l(next, starts)},
	{"", "bulkResults: another command's fault", failing(trial.Fault{What: trial.Slow, On: "ping"}, of("clientBulkWriteMany")), nil,
		l(next, "started getMore", "returns 1, no error"), l("started getMore", next, "returns 2, no error")},
	{"", "wasSent: fork alone ends while upstream succeeds", failing(concern, of("transaction")), l("succeeded commitTransaction"),
		l(next, commits, "succeeded commitTransaction", "returns <nil>, no error"), ended(`mongo.CommandError "x"`, lost)},
	{"", "cleared2: first command is not retried", of("transaction"), l(unfit), l("started insert"), l(next, aborts)},
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for _, e := range refused {
		t.Run(e.name, func(t *testing.T) {
			if r := e.reason(t); r != nil {
				t.Errorf("accepted by %q", r.Row)
			}
		})
	}
}

// TestRulesOfRuns is about rules that compare several runs.
func TestRulesOfRuns(t *testing.T) {
	o := trial.Outcome{Call: trial.Call{ID: 1, Kind: "insertOne"}}
	one := func(change func(*trial.Trace)) trial.Trace {
		tr := trial.Trace{Limit: 5, Outcomes: []trial.Outcome{o}}
		change(&tr)
		return tr
	}
	nothing := func(*trial.Trace) {}
	t.Run("lost another", func(t *testing.T) {
		up := one(func(tr *trial.Trace) { tr.Lost = []int{1} })
		fork := one(func(tr *trial.Trace) { tr.Lost = []int{2} })
		assert.NotNil(t, brokenOf(always, trial.Plan{}, traces{up}, traces{fork}))
	})
	t.Run("left open in 14 of 15", func(t *testing.T) {
		var up, fork traces
		for n := range runs {
			up = append(up, one(nothing))
			fork = append(fork, one(func(tr *trial.Trace) { tr.Unfinished = min(1, n) }))
		}
		plan := trial.Plan{Calls: []trial.Call{{ID: 1}}, Faults: []trial.Fault{{What: trial.Reject, Code: 462, On: "insert"}}}
		rule, _ := broken(plan, up, fork)
		assert.Equal(t, "a transaction is left open", rule)
	})
}

// TestEnds is about calls that end differently after the drivers have gone apart with a reason.
func TestEnds(t *testing.T) {
	e := example{"", "", of(within), l(starts), l(starts, next, next, "returns 1, no error"),
		append(l(next, starts, next), ended(`mongo.CommandError "x"`, "network")...)}
	up, fork := e.traces()
	assert.Contains(t, explain(e.scene.Plan, up, fork).detail, "goes on, and fails", "after the drivers have gone apart")
	e = example{"", "", of("transaction"), l(commitFails), l(commits, next, commitFails, next, "error E", "is "+lost,
		"returns <nil>, an error"),
		append(l(next, commits, next), ended(`mongo.CommandError "x"`, "")...)}
	up, fork = e.traces()
	assert.Contains(t, explain(e.scene.Plan, up, fork).detail, "goes on, and fails", "without a label")
}

// program is one that answers each order with a trace.
func program(t *testing.T, trace string) string {
	name := t.TempDir() + "/driver"
	text := "#!/bin/sh\nwhile read -r order; do echo '" + trace + "'; done\n"
	if trace == "" {
		text = "#!/bin/sh\n"
	}
	assert.NoError(t, os.WriteFile(name, []byte(text), 0o700))
	return name
}

func pairOf(t *testing.T, upstream, fork string) *pair {
	return &pair{[2]*driver{{ctx: t.Context(), program: upstream}, {ctx: t.Context(), program: fork}}}
}

// TestPrograms is about programs that crash, or whose traces agree.
func TestPrograms(t *testing.T) {
	plan := trial.Plan{Calls: []trial.Call{{ID: 1, Kind: "find"}}}
	const good = `{"Digest":"a","Outcomes":[{"ID":1,"Kind":"find"}]`
	t.Run("held", func(t *testing.T) {
		p := pairOf(t, program(t, good+`}`), program(t, good+`,"Held":1,"Unpaired":1,"Early":1}`))
		defer p.close()
		assert.NotEmpty(t, p.judge(plan).finding)
	})
	t.Run("both crash", func(t *testing.T) {
		const panics = `{"Crash":"panic: index out of range"}`
		p := pairOf(t, program(t, panics), program(t, panics))
		defer p.close()
		assert.Equal(t, crashes, p.judge(plan).finding)
	})
	t.Run("upstream never runs", func(t *testing.T) {
		var out strings.Builder
		c := cli{Upstream: program(t, ""), Seed: 1, Seeds: 3}
		assert.Error(t, c.compare(t.Context(), &out))
	})
}
