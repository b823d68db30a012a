package openloop

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/bench/internal/arrival"
	"mongofork/bench/internal/canned"
)

func startCanned(t *testing.T) string {
	server, err := canned.Start(context.Background())
	require.NoError(t, err)
	t.Cleanup(server.Close)
	return server.URI()
}

func newPlan(uri string) Plan {
	return Plan{
		URI: uri, Database: "bench", Clients: 2, Capacity: 100, Load: arrival.Load{Base: 2}, Seed: 1, Patience: time.Minute,
		Warmup: 200 * time.Millisecond, Duration: 500 * time.Millisecond, Cooldown: 300 * time.Millisecond,
		Interval: 200 * time.Millisecond,
	}
}

func TestRun(t *testing.T) {
	plan := newPlan(startCanned(t))
	report, err := Run(context.Background(), plan)
	require.NoError(t, err)

	due := 0
	for _, s := range plan.schedule() {
		if s.due >= plan.Warmup && s.due < plan.Warmup+plan.Duration {
			due++
		}
	}
	assert.Equal(t, due, report.Arrived, "what was due while it was measured")
	assert.Equal(t, report.Arrived, report.Succeeded)
	assert.Equal(t, report.Arrived, report.Commands)
	assert.Len(t, report.Clients, 2)
	assert.Equal(t, report.Arrived, report.Clients[0].Arrived+report.Clients[1].Arrived)
	require.Len(t, report.Series, 3)
	assert.Equal(t, report.Arrived, report.Series[0].Due+report.Series[1].Due+report.Series[2].Due)
	assert.Equal(t, report.Good, report.Series[0].Good+report.Series[1].Good+report.Series[2].Good)
	assert.Positive(t, report.Latency.P50)
	assert.Zero(t, report.Rejected)
}

func TestScheduleIsThatOfTheSeed(t *testing.T) {
	plan := newPlan("")
	first := plan.schedule()
	assert.InDelta(t, 200, len(first), 5*15)
	assert.Equal(t, first, plan.schedule())
	plan.Clients = 3
	for i, s := range plan.schedule() {
		assert.Equal(t, first[i].due, s.due, "it does not matter how many clients there are")
	}
	plan.Seed++
	assert.NotEqual(t, first, plan.schedule())
}

func TestPlanErrors(t *testing.T) {
	_, err := Run(context.Background(), Plan{})
	for _, want := range []string{"load is 0", "there is no database", "clients is 0", "capacity is 0", "duration is 0s", "interval is 0s"} {
		assert.ErrorContains(t, err, want)
	}
}

func TestDrainNeedsAFailPoint(t *testing.T) {
	plan := newPlan(startCanned(t))
	plan.Drain = true
	_, err := Run(context.Background(), plan)
	assert.ErrorContains(t, err, "no canned reply")
}

// TestReport has three operations: one that was due too early, one that succeeded at its second attempt, and one that was
// given up.
func TestReport(t *testing.T) {
	plan := newPlan("")
	r := &run{plan: plan, operations: make([]operation, 3)}
	set := func(i int, due, ended time.Duration, o outcome, commands int32) {
		op := &r.operations[i]
		op.due, op.began, op.ended, op.outcome = due, due+time.Millisecond, ended, o
		op.commands.Store(commands)
	}
	set(0, 100*time.Millisecond, 250*time.Millisecond, succeeded, 1)
	set(1, 300*time.Millisecond, 450*time.Millisecond, succeeded, 2)
	set(2, 650*time.Millisecond, 2*time.Second, givenUp, 6)

	report := r.report()
	assert.Equal(t, 2, report.Arrived)
	assert.Equal(t, 1, report.Succeeded)
	assert.Equal(t, 1, report.GivenUp)
	assert.Equal(t, 2, report.Commands, "what was given up might have sent more")
	assert.Equal(t, 2, report.Good, "it counts when operations succeed, not when they were due")
	assert.Equal(t, []Interval{{Due: 1, Good: 1}, {Good: 1}, {Due: 1}}, report.Series)
	assert.Equal(t, 150*time.Millisecond, report.Latency.P99)
	assert.Equal(t, time.Millisecond, report.Lag.P50)
	assert.Equal(t, []Share{{Arrived: 2, Succeeded: 1}, {}}, report.Clients)
}
