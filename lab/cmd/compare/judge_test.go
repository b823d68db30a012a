package main

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"mongofork/lab/virtual/trial"
)

// lines are those of a short trace.
var lines = []string{
	`       1.000 event started insert of call 1 insertOne`,
	`       1.000 server a sees insert: "c", txnNumber: 1`,
	`       1.400 event succeeded insert after 400µs`,
	`       1.400 log "Command succeeded" durationMS: 0`,
	`       1.400 call 1 insertOne returns {}, no error`,
	`       2.000 call 2 findOne detail command 91 ShutdownInProgress ["RetryableWriteError"]`,
	`       2.000 call 2 findOne error mongo.CommandError "x"`,
	`       2.000 call 2 findOne is timeout, network, context deadline exceeded`,
	`       2.000 call 2 findOne returns <nil>, an error`,
	`       4.000 3 connections opened`,
}

func TestPlantedDifferences(t *testing.T) {
	t.Parallel()
	const missing = ""
	tests := map[string]struct {
		line int
		with string
	}{
		"a field of a command":       {1, `       1.000 server a sees insert: "c", txnNumber: 2`},
		"a command that is not sent": {1, missing},
		"the order":                  {0, `       1.100 event started insert of call 1 insertOne`},
		"an event":                   {2, missing},
		"the log":                    {3, `       1.400 log "Command failed" durationMS: 0`},
		"a result":                   {4, `       1.400 call 1 insertOne returns {1}, no error`},
		"a label":                    {5, `       2.000 call 2 findOne detail command 91 ShutdownInProgress []`},
		"an error's text":            {6, `       2.000 call 2 findOne error mongo.CommandError "y"`},
		"an error's type":            {6, `       2.000 call 2 findOne error mongo.WriteException "x"`},
		"whether it is a timeout":    {7, `       2.000 call 2 findOne is network, context deadline exceeded`},
		"the context's error":        {7, `       2.000 call 2 findOne is timeout, network`},
		"the time of return":         {8, `       2.001 call 2 findOne returns <nil>, an error`},
		"connections":                {9, `       4.000 4 connections opened`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var planted []string
			for i, line := range lines {
				if i == tt.line {
					line = tt.with
				}
				if line != missing {
					planted = append(planted, line)
				}
			}
			v := explain(trial.Plan{}, trial.Trace{Lines: lines}, trial.Trace{Lines: planted})
			assert.Equal(t, different, v.finding)
			assert.Contains(t, v.detail, lines[tt.line])
		})
	}
}

// TestAfterAReason is about a difference without a reason that comes after one with a reason.
func TestAfterAReason(t *testing.T) {
	t.Parallel()
	up := []string{`       1.000 call 1 insertOne error T "x"`, `       2.000 server a sees ping`}
	fork := []string{`       1.000 call 1 insertOne error T "x: no time for a retry: y"`, `       2.000 server a sees find`}
	v := explain(trial.Plan{}, trial.Trace{Lines: up}, trial.Trace{Lines: fork})
	assert.Equal(t, different, v.finding)
	assert.Contains(t, v.detail, "find")
	v = explain(trial.Plan{}, trial.Trace{Lines: up[:1]}, trial.Trace{Lines: fork[:1]})
	assert.Empty(t, v.finding)
	assert.Equal(t, []string{"the deadline passes, or the context is cancelled, before a retry is sent"}, v.reasons)
}

// TestLater is about calls after the drivers have gone apart: minPoolSize opens a connection early.
func TestLater(t *testing.T) {
	t.Parallel()
	calls := []trial.Call{{ID: 1, Kind: "insertOne"}}
	trace := func(at time.Duration, lines ...string) trial.Trace {
		return trial.Trace{Lines: lines, Outcomes: []trial.Outcome{{Call: calls[0], Start: at}}}
	}
	const early, started, failed = "       0.000 pool a: ConnectionCreated", "      10.000 event started insert of call 1 insertOne",
		"      12.000 call 1 insertOne error T"
	up := trace(10*time.Millisecond, early, started)
	tests := map[string]struct {
		faults []trial.Fault
		calls  []trial.Call
		fork   trial.Trace
		want   string
	}{
		"the same, later": {nil, calls,
			trace(11*time.Millisecond, "      11.000 event started insert of call 1 insertOne"), ""},
		"another result": {nil, calls, trace(10*time.Millisecond, started, "      12.000 call 1 insertOne returns 2"), different},
		"another command": {nil, calls,
			trace(10*time.Millisecond, "      10.000 event started update of call 1 insertOne"), different},
		"it is not sent":   {nil, calls, trace(10 * time.Millisecond), different},
		"it is sent twice": {nil, calls, trace(10*time.Millisecond, started, started), different},
		"an error":         {nil, calls, trace(10*time.Millisecond, started, failed), different},
		"an error where faults differ": {[]trial.Fault{{What: trial.Reset, At: time.Second}}, calls,
			trace(10*time.Millisecond, started, failed), ""},
		"and where they are over": {[]trial.Fault{{What: trial.Error, On: "ping", Nth: 1, Times: 1}}, calls,
			trace(10*time.Millisecond, started, failed), different},
		"it has a deadline": {nil, []trial.Call{{ID: 1, Kind: "insertOne", Deadline: 1}},
			trace(10*time.Millisecond, started, failed), ""},
		"it was under way": {nil, calls, trace(0, started, failed), ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up, fork := up, tt.fork
			up.Outcomes = []trial.Outcome{{Call: tt.calls[0], Start: up.Outcomes[0].Start}}
			v := explain(trial.Plan{Options: []string{"minPoolSize=1"}, Calls: tt.calls, Faults: tt.faults}, up, fork)
			assert.Equal(t, tt.want, v.finding)
			assert.Equal(t, []string{"a new pool"}, v.reasons)
		})
	}
}

// TestRates is about plans that are not exact.
func TestRates(t *testing.T) {
	t.Parallel()
	sample := func(each map[string]int) (t traces) {
		for _, what := range slices.Sorted(maps.Keys(each)) {
			for range each[what] {
				t = append(t, trial.Trace{Digest: what, Lines: []string{"       1.000 server a sees " + what}})
			}
		}
		return t
	}
	tests := map[string]struct {
		up, fork map[string]int
		want     string
	}{
		"the same":                             {map[string]int{"a": 30, "b": 30}, map[string]int{"a": 34, "b": 26}, ""},
		"one as often":                         {map[string]int{"a": 60}, map[string]int{"a": 57, "b": 3}, ""},
		"one of few runs":                      {map[string]int{"a": 15}, map[string]int{"a": 14, "b": 1}, seldom},
		"none of few runs":                     {map[string]int{"a": 15}, map[string]int{"a": 15}, ""},
		"the fork does something now and then": {map[string]int{"a": 60}, map[string]int{"a": 50, "b": 10}, seldom},
		"half of the time":                     {map[string]int{"a": 60}, map[string]int{"a": 30, "b": 30}, seldom},
		"never, what upstream often does":      {map[string]int{"a": 30, "b": 30}, map[string]int{"a": 60}, seldom},
		"something else":                       {map[string]int{"a": 30, "b": 30}, map[string]int{"a": 30, "c": 30}, seldom},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.want, rates(trial.Plan{}, sample(tt.up), sample(tt.fork)).finding)
		})
	}
}

func TestExact(t *testing.T) {
	t.Parallel()
	assert.True(t, traces{{Digest: "a"}, {Digest: "a"}}.exact())
	assert.False(t, traces{{Digest: "a"}, {Digest: "a"}, {Digest: "b"}}.exact())
}

// TestTurns is about workers that are ready at one instant: each goes on a moment after the one before.
func TestTurns(t *testing.T) {
	t.Parallel()
	up, fork := []string{"       1.000 a", "       1.001 b", "       1.002 c"}, []string{"       1.001 b", "       1.003 d"}
	i, restUp, restFork := instant(up, fork, time.Microsecond)
	assert.Equal(t, time.Millisecond, i.At)
	assert.Equal(t, up[:1], i.Upstream)
	assert.Empty(t, i.Fork)
	assert.Equal(t, up[2:], restUp)
	assert.Equal(t, fork[1:], restFork)
}

// TestNowAndThen is about a call that breaks a rule in some runs.
func TestNowAndThen(t *testing.T) {
	t.Parallel()
	plan := trial.Plan{Calls: []trial.Call{{ID: 1}}, Faults: []trial.Fault{{What: trial.Reject, Code: 462, On: "insert"}}}
	var up, fork traces
	for n := range runs {
		o := trial.Outcome{Call: trial.Call{ID: 1, Kind: "insertOne"}}
		up = append(up, trial.Trace{Limit: 5, Outcomes: []trial.Outcome{o}})
		if n%2 == 0 {
			o.Error = "x"
		}
		fork = append(fork, trial.Trace{Limit: 5, Outcomes: []trial.Outcome{o}})
	}
	rule, _ := broken(plan, up, fork)
	assert.Equal(t, "a call fails that succeeds with upstream", rule)
	rule, _ = broken(plan, up, append(slices.Clone(up[:runs-2]), fork[:2]...))
	assert.Empty(t, rule)
}

func TestRules(t *testing.T) {
	t.Parallel()
	call := func(end time.Duration, change func(*trial.Outcome)) trial.Trace {
		o := trial.Outcome{Call: trial.Call{ID: 1, Kind: "insertOne"}, End: end}
		if change != nil {
			change(&o)
		}
		return trial.Trace{Limit: 5, Outcomes: []trial.Outcome{o}}
	}
	opened := func(n int) trial.Trace {
		trace := call(time.Second, nil)
		trace.Opened = make([]time.Duration, n)
		return trace
	}
	with := func(change func(*trial.Trace)) trial.Trace {
		trace := call(time.Second, nil)
		change(&trace)
		return trace
	}
	good := call(time.Second, nil)
	rejected := trial.Plan{Calls: []trial.Call{{ID: 1}}, Faults: []trial.Fault{{What: trial.Reject, Code: 462, On: "insert"}}}
	away := trial.Plan{Faults: []trial.Fault{{What: trial.Away, For: time.Second}}}
	deadline := func(o *trial.Outcome) { o.Deadline = time.Second }
	tests := map[string]struct {
		plan     trial.Plan
		up, fork trial.Trace
	}{
		"an acknowledged write is lost":           {rejected, good, with(func(t *trial.Trace) { t.Lost = []int{1} })},
		"a write took place twice":                {rejected, good, with(func(t *trial.Trace) { t.Twice = []int{1} })},
		"more commands than attempts are allowed": {rejected, good, call(time.Second, func(o *trial.Outcome) { o.Attempts = 7 })},
		"a call outlives its deadline": {rejected, call(time.Second, deadline),
			call(time.Second+3*time.Millisecond, deadline)},
		"recovery is later than upstream's":        {away, call(1100*time.Millisecond, nil), call(1700*time.Millisecond, nil)},
		"a storm of connections":                   {rejected, opened(1), opened(18)},
		"a transaction is left open":               {rejected, good, with(func(t *trial.Trace) { t.Unfinished = 1 })},
		"a call fails that succeeds with upstream": {rejected, good, call(time.Second, func(o *trial.Outcome) { o.Error = "x" })},
		"tokens are minted":                        {rejected, good, with(func(t *trial.Trace) { t.Minted = 4 })},
		"servers are selected in a busy loop":      {rejected, good, with(func(t *trial.Trace) { t.Selections = 13 })},
	}
	assert.Len(t, tests, len(rules))
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule, _ := broken(tt.plan, traces{tt.up, tt.up}, traces{tt.fork, tt.fork})
			assert.Equal(t, name, rule)
			rule, _ = broken(tt.plan, traces{tt.up}, traces{tt.up})
			assert.Empty(t, rule, "upstream keeps its own rules")
		})
	}
}

// TestNotBroken is about what looks like a broken rule. Next to each case is one that is.
func TestNotBroken(t *testing.T) {
	t.Parallel()
	const fails, outlives = "a call fails that succeeds with upstream", "a call outlives its deadline"
	rejected := trial.Plan{Calls: []trial.Call{{ID: 1}}, Faults: []trial.Fault{{What: trial.Reject, Code: 462, On: "insert"},
		{What: trial.Error, On: "insert"}}}
	trace := func(o trial.Outcome) trial.Trace { return trial.Trace{Limit: 5, Outcomes: []trial.Outcome{o}} }
	call := func(kind string, attempts int, err string) trial.Trace {
		return trace(trial.Outcome{Call: trial.Call{Kind: kind}, Attempts: attempts, Error: err})
	}
	ends := func(kind string, ending, held, end time.Duration) trial.Trace {
		return trace(trial.Outcome{Call: trial.Call{Kind: kind, Deadline: time.Second}, Ending: ending, Held: held, End: end,
			Error: "x"})
	}
	given := func(kind string) trial.Trace { return ends(kind, 0, 0, time.Second) }
	aborted := func(kind, err string, open int) trial.Trace {
		cancelled := trace(trial.Outcome{Call: trial.Call{Kind: kind, Cancel: time.Second}, Error: err})
		cancelled.Unfinished = open
		return cancelled
	}
	opened := func(n, cut int) trial.Trace {
		return trial.Trace{Opened: make([]time.Duration, n), Cut: cut, Outcomes: []trial.Outcome{{}}}
	}
	tests := map[string]struct {
		up, fork trial.Trace
		want     string
	}{
		"commands lose their connection":            {opened(2, 0), opened(38, 10), ""},
		"and upstream's, too":                       {opened(2, 10), opened(38, 10), "a storm of connections"},
		"upstream needs more attempts than allowed": {call("insertOne", 11, ""), call("insertOne", 6, "x"), ""},
		"upstream needs no more":                    {call("insertOne", 6, ""), call("insertOne", 6, "x"), fails},
		"upstream sends many getMores":              {call("find", 11, ""), call("find", 6, "x"), fails},
		"the application aborts with a context that is over": {aborted("abortedTransaction", "x", 0),
			aborted("abortedTransaction", "x", 1), ""},
		"WithTransaction does": {aborted("withTransaction", "x", 0), aborted("withTransaction", "x", 1),
			"a transaction is left open"},
		"a transaction has many commands":     {call("withTransaction", 11, ""), call("withTransaction", 6, "x"), fails},
		"a cursor is closed at a silent host": {given("find"), ends("find", 0, 3*time.Second, 3*time.Second), ""},
		"and later":                           {given("find"), ends("find", 0, 3*time.Second, 3010*time.Millisecond), outlives},
		"the end of a transaction has time": {given("withTransaction"), ends("withTransaction", time.Second, 3*time.Second,
			3*time.Second), ""},
		"and takes more": {given("withTransaction"), ends("withTransaction", time.Second, 3*time.Second, 4*time.Second),
			outlives},
		"its callback has none": {given("withTransaction"), ends("withTransaction", 2*time.Second, 3*time.Second, 3*time.Second),
			outlives},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule, _ := broken(rejected, traces{tt.up, tt.up}, traces{tt.fork, tt.fork})
			assert.Equal(t, tt.want, rule)
		})
	}
}
