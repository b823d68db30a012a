package openloop

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestScheduleIsThatOfThePlan(t *testing.T) {
	plan := newPlan("mongodb://h")
	schedule, err := plan.Schedule()
	require.NoError(t, err)
	assert.Equal(t, "mongodb://h", schedule.URI)
	assert.Equal(t, "bench", schedule.Database)
	assert.Equal(t, 200*time.Millisecond, schedule.From)
	assert.Equal(t, 700*time.Millisecond, schedule.Until)
	require.Len(t, schedule.Due, len(plan.schedule()))
	for i, op := range plan.schedule() {
		assert.Equal(t, op, start{schedule.Due[i], schedule.Client[i]})
	}

	_, err = Plan{}.Schedule()
	assert.ErrorContains(t, err, "clients is 0")
}

func TestReportOfSamples(t *testing.T) {
	plan := newPlan("")
	samples := &Samples{Served: 7, Rejected: 8}
	due := 0
	for _, op := range plan.schedule() {
		samples.Operations = append(samples.Operations,
			Sample{Began: op.due + time.Millisecond, Ended: op.due + 2*time.Millisecond, Outcome: "failed", Commands: 3})
		if op.due >= plan.Warmup && op.due < plan.Warmup+plan.Duration {
			due++
		}
	}
	report, err := plan.Report(samples)
	require.NoError(t, err)
	assert.Equal(t, due, report.Failed)
	assert.Equal(t, 3*due, report.Commands)
	assert.Equal(t, time.Millisecond, report.Lag.P99)
	assert.Equal(t, 7, report.Served)
	assert.Equal(t, 8, report.Rejected)

	samples.Operations[1].Outcome = "lost"
	_, err = plan.Report(samples)
	assert.ErrorContains(t, err, `operation 1 has the unknown outcome "lost"`)
	samples.Operations = samples.Operations[1:]
	_, err = plan.Report(samples)
	assert.ErrorContains(t, err, "samples of")
}
