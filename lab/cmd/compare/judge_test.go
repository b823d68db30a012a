package main

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"mongofork/lab/virtual/trial"
)

// lines are those of a short trace.
var lines = []trial.Line{
	{Call: 1, Text: "started insert"},
	{Call: 1, Text: `a sees insert: "c", txnNumber: 1`},
	{At: 400 * time.Microsecond, Call: 1, Text: "succeeded insert"},
	{At: 400 * time.Microsecond, Call: 1, Text: "returns {}, no error"},
	{At: time.Millisecond, Call: 2, Text: `detail command 91 ShutdownInProgress ["RetryableWriteError"]`},
	{At: time.Millisecond, Call: 2, Text: `error mongo.CommandError "x"`},
	{At: time.Millisecond, Call: 2, Text: "is timeout, network, context deadline exceeded"},
	{At: time.Millisecond, Call: 2, Text: "returns <nil>, an error"},
	{At: 2 * time.Millisecond, Text: "server a: Mongos to Unknown"},
	{At: 3 * time.Millisecond, Text: "3 connections opened"},
}

func TestPlantedDifferences(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		line int
		with string // nothing if the line is missing
		at   time.Duration
	}{
		"a field of a command":       {1, `a sees insert: "c", txnNumber: 2`, 0},
		"a command that is not sent": {1, "", 0},
		"the order":                  {0, "started insert", 100 * time.Microsecond},
		"an event":                   {2, "", 0},
		"a result":                   {3, "returns {1}, no error", 0},
		"a label":                    {4, "detail command 91 ShutdownInProgress []", 0},
		"an error's text":            {5, `error mongo.CommandError "y"`, 0},
		"an error's type":            {5, `error mongo.WriteException "x"`, 0},
		"whether it is a timeout":    {6, "is network, context deadline exceeded", 0},
		"the context's error":        {6, "is timeout, network", 0},
		"the time of return":         {7, "returns <nil>, an error", 5 * time.Microsecond},
		"a server":                   {8, "", 0},
		"connections":                {9, "4 connections opened", 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			planted := slices.Clone(lines)
			planted[tt.line].Text = tt.with
			planted[tt.line].At += tt.at
			if tt.with == "" {
				planted = slices.Delete(planted, tt.line, tt.line+1)
			}
			v := explain(trial.Plan{}, trial.Trace{Lines: lines}, trial.Trace{Lines: planted})
			assert.Equal(t, different, v.finding)
			assert.Contains(t, v.detail, lines[tt.line].Text)
		})
	}
}

// TestExplain is about several differences: those after one with a reason, those of several calls at one instant, and what follows from
// them.
func TestExplain(t *testing.T) {
	t.Parallel()
	plan := trial.Plan{Options: []string{"timeoutMS=50"}, Calls: []trial.Call{{ID: 1, Kind: "insertOne"}, {ID: 2, Kind: "find"}}}
	trace := func(lines ...trial.Line) trial.Trace { return trial.Trace{Lines: lines} }
	ended := func(call int, err string) trial.Line { return trial.Line{Call: call, Text: "error T " + err} }
	returned := func(call int) trial.Line { return trial.Line{Call: call, Text: "returns 1, an error"} }
	late := func(text string) trial.Line { return trial.Line{At: time.Millisecond, Call: 1, Text: text} }
	const interrupted = `"x: no time for a retry: y"`
	cleared := ended(1, `"connection pool for a was cleared because another operation failed with: x"`)
	cleared.Text = strings.Replace(cleared.Text, "T", "topology.poolClearedError", 1)
	other, otherLater := trial.Line{Call: 2, Text: "started find"}, trial.Line{At: time.Millisecond, Call: 2, Text: "started find"}
	server := trial.Line{Text: "server a: Unknown to Mongos"}
	for name, tt := range map[string]struct {
		plan     trial.Plan
		up, fork trial.Trace
		found    bool
	}{
		"nothing":           {plan, trace(returned(1)), trace(returned(1)), false},
		"one with a reason": {plan, trace(ended(1, `"x"`), returned(1)), trace(ended(1, interrupted), returned(1)), false},
		"and one without": {plan, trace(ended(1, `"x"`), returned(1), late("started ping")),
			trace(ended(1, interrupted), returned(1), late("started find")), true},
		"two calls": {plan, trace(ended(1, `"x"`), returned(1), ended(2, `"x"`), returned(2)),
			trace(ended(1, interrupted), returned(1), ended(2, interrupted), returned(2)), false},
		"two calls, one without a reason": {plan, trace(ended(1, `"x"`), returned(1), ended(2, `"x"`), returned(2)),
			trace(ended(1, interrupted), returned(1), ended(2, `"z"`), returned(2)), true},
		"a server beside a call that goes apart": {plan, trace(cleared, returned(1)), trace(server), false},
		"a server beside one that does not": {plan, trace(ended(1, `"x"`), returned(1)), trace(ended(1, interrupted),
			returned(1), server), true},
		"a call that waited for its connection":      {plan, trace(cleared, returned(1), otherLater), trace(other), false},
		"a call that does something else":            {plan, trace(cleared, returned(1)), trace(other), true},
		"a call that waited for its connection ends": {plan, trace(cleared, returned(1)), trace(returned(2)), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.found, explain(tt.plan, tt.up, tt.fork).finding != "")
		})
	}
}

// TestLater is about calls after the drivers have gone apart.
func TestLater(t *testing.T) {
	t.Parallel()
	const at = 10 * time.Millisecond
	trace := func(start time.Duration, first string, lines ...string) trial.Trace {
		all := []trial.Line{{At: time.Millisecond, Call: 1, Text: first}}
		for _, text := range lines {
			all = append(all, trial.Line{At: max(start, 2*time.Millisecond), Call: 2, Text: text})
		}
		return trial.Trace{Lines: all, Outcomes: []trial.Outcome{{}, {Call: trial.Call{ID: 2, Kind: "insertOne"}, Start: start}}}
	}
	later := func(start time.Duration, lines ...string) trial.Trace {
		return trace(start, "started commitTransaction", lines...)
	}
	const started, failed = "started insert", "error T"
	pings := func(f trial.Fault) []trial.Fault {
		f.What, f.On, f.Nth = trial.Error, "ping", 1
		return []trial.Fault{f}
	}
	tests := map[string]struct {
		faults   []trial.Fault
		deadline time.Duration
		fork     trial.Trace
		want     string
	}{
		"the same, later":              {nil, 0, later(11*time.Millisecond, started), ""},
		"another result":               {nil, 0, later(at, started, "returns 2"), different},
		"another command":              {nil, 0, later(at, "started update"), different},
		"it is not sent":               {nil, 0, later(at), different},
		"it is sent twice":             {nil, 0, later(at, started, started), different},
		"an error":                     {nil, 0, later(at, started, failed), different},
		"an error where faults differ": {[]trial.Fault{{What: trial.StepDown, At: time.Second}}, 0, later(at, started, failed), ""},
		"and where they are over":      {pings(trial.Fault{Times: 1}), 0, later(at, started, failed), different},
		"and where they are not":       {pings(trial.Fault{Times: 2}), 0, later(at, started, failed), ""},
		"and of one host":              {pings(trial.Fault{Times: 1, Host: 1}), 0, later(at, started, failed), ""},
		"and of code 391":              {pings(trial.Fault{Times: 1, Code: 391}), 0, later(at, started, failed), ""},
		"and of servers":               {pings(trial.Fault{}), 0, later(at, started, failed), ""},
		"it has a deadline":            {nil, 1, later(at, started, failed), ""},
		"it was under way":             {nil, 0, later(0, started, failed), ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan := in("loadbalanced:1", of("transaction"))
			plan.Calls = append(plan.Calls, trial.Call{ID: 2, Kind: "insertOne", Deadline: tt.deadline})
			plan.Faults = tt.faults
			up, fork := trace(at, "(", started), tt.fork
			for _, one := range []*trial.Trace{&up, &fork} {
				one.Outcomes[1].Deadline = tt.deadline
				one.Lines = slices.Insert(one.Lines, 0, trial.Line{Call: 1, Text: commitFails},
					trial.Line{Text: "a sees ping: 1"})
			}
			v := explain(plan.Plan, up, fork)
			assert.Equal(t, tt.want, v.finding)
			assert.Equal(t, []string{"a transaction finds no server; a commit's result is unknown"}, v.reasons)
		})
	}
}

// TestRates is about plans that are not exact.
func TestRates(t *testing.T) {
	t.Parallel()
	sample := func(each map[string]int) (t traces) {
		for _, what := range slices.Sorted(maps.Keys(each)) {
			for range each[what] {
				t = append(t, trial.Trace{Digest: what, Lines: []trial.Line{{Text: "a sees " + what}}})
			}
		}
		return t
	}
	tests := map[string]struct {
		up, fork map[string]int
		want     string
	}{
		"the same":                             {map[string]int{"a": 8, "b": 7}, map[string]int{"a": 10, "b": 5}, ""},
		"always":                               {map[string]int{"a": 15}, map[string]int{"a": 15}, ""},
		"the fork does something now and then": {map[string]int{"a": 15}, map[string]int{"a": 14, "b": 1}, seldom},
		"half of the time":                     {map[string]int{"a": 15}, map[string]int{"a": 8, "b": 7}, seldom},
		"never, what upstream often does":      {map[string]int{"a": 8, "b": 7}, map[string]int{"a": 15}, seldom},
		"something else":                       {map[string]int{"a": 8, "b": 7}, map[string]int{"a": 7, "c": 8}, seldom},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.want, compared(trial.Plan{}, sample(tt.up), sample(tt.fork)).finding)
		})
	}
}

// TestOneRun is about what one run, or two of the fork, tell.
func TestOneRun(t *testing.T) {
	t.Parallel()
	a, b := trial.Trace{Digest: "a"}, trial.Trace{Digest: "b"}
	assert.Empty(t, compared(trial.Plan{}, traces{a}, traces{a, a}).finding)
	assert.Equal(t, different, compared(trial.Plan{}, traces{a}, traces{b}).finding)
	assert.Equal(t, different, compared(trial.Plan{}, traces{a}, traces{a, b}).finding)
	assert.Equal(t, crashes, compared(trial.Plan{}, traces{a}, traces{{Crash: "x"}}).finding)
	free := trial.Plan{Topology: "sharded:2"}
	a.Outcomes, b.Outcomes = []trial.Outcome{{}}, []trial.Outcome{{}}
	assert.Empty(t, compared(free, traces{a}, traces{b}).finding)
	b.Unpaired = 1
	assert.Equal(t, "a command's event has not exactly one counterpart", compared(free, traces{a}, traces{b}).finding)
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

// TestNotBroken is about what looks like a broken rule. Next to each case is one that is.
func TestNotBroken(t *testing.T) {
	t.Parallel()
	const fails = "a call fails that succeeds with upstream"
	rejected := trial.Plan{Calls: []trial.Call{{ID: 1}}, Faults: []trial.Fault{{What: trial.Reject, Code: 462, On: "insert"},
		{What: trial.Error, On: "insert"}}}
	trace := func(o trial.Outcome) trial.Trace { return trial.Trace{Limit: 5, Outcomes: []trial.Outcome{o}} }
	call := func(kind string, attempts int, err string) trial.Trace {
		return trace(trial.Outcome{Call: trial.Call{Kind: kind}, Attempts: attempts, Error: err})
	}
	swallowed := trace(trial.Outcome{Call: trial.Call{Kind: "causal"}, Overloaded: true, Attempts: 1})
	hurries := trace(trial.Outcome{Call: trial.Call{Kind: "insertOne", Cancel: time.Second}, Error: "x"})
	tests := map[string]struct {
		up, fork trial.Trace
		want     string
	}{
		"upstream needs more attempts than allowed": {call("insertOne", 11, ""), call("insertOne", 6, "x"), ""},
		"upstream needs no more":                    {call("insertOne", 6, ""), call("insertOne", 6, "x"), fails},
		"upstream sends many getMores":              {call("find", 11, ""), call("find", 6, "x"), fails},
		"upstream takes a rejection for a success":  {swallowed, call("causal", 6, "x"), ""},
		"its time limits the backoffs":              {call("insertOne", 6, ""), hurries, ""},
		"a transaction has many commands":           {call("withTransaction", 11, ""), call("withTransaction", 6, "x"), fails},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule, _ := broken(rejected, traces{tt.up, tt.up}, traces{tt.fork, tt.fork})
			assert.Equal(t, tt.want, rule)
		})
	}
}
