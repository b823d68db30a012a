package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"mongofork/lab/virtual/trial"
)

// TestEqual is about plans in which nothing goes wrong.
func TestEqual(t *testing.T) {
	t.Parallel()
	type traces = []trial.Trace
	a, b := trial.Trace{Lines: []string{"x", "a"}}, trial.Trace{Lines: []string{"x", "b"}}
	assert.Empty(t, equal(traces{a}, traces{a}))
	assert.Contains(t, equal(traces{a}, traces{b}), "upstream:\n\ta\nthe fork:\n\tb")
	assert.Empty(t, equal(traces{a, b}, traces{b, a}), "what is by chance")
	assert.Empty(t, equal(traces{{Crash: "upstream's"}}, traces{b}))
	assert.NotEmpty(t, equal(traces{a, a, a}, traces{a, b, b}))
}

// TestSame is about calls that get over errors.
func TestSame(t *testing.T) {
	t.Parallel()
	plan := trial.Plan{Topology: "standalone", Faults: []trial.Fault{{What: trial.Reject, Passing: true}}}
	without := trial.Trace{Calls: []string{"call 1: sends x", "call 1: returns 1"}, Opened: 3}
	other, command, more := without, without, without
	other.Calls, command.Calls, more.Opened = []string{"call 1: sends x", "call 1: returns 2"}, without.Calls[1:], 4
	assert.Empty(t, same(plan, without, without))
	assert.NotEmpty(t, same(plan, without, other))
	assert.NotEmpty(t, same(plan, without, command))
	assert.NotEmpty(t, same(plan, without, more))
	plan.Faults[0].What = trial.Close
	assert.Empty(t, same(plan, without, more), "another connection is needed")
	assert.Empty(t, same(plan, without, command), "another command is sent")
	assert.NotEmpty(t, same(plan, without, other))
}
