package goodput

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/bench/internal/arrival"
	"mongofork/bench/internal/canned"
	"mongofork/bench/internal/drivers"
	"mongofork/bench/internal/openloop"
)

// build builds the lab, and the load with the fork.
func build(t *testing.T) (lab, load string) {
	t.Helper()
	root, temp := filepath.Join("..", "..", ".."), t.TempDir()
	lab, load = filepath.Join(temp, "lab"), filepath.Join(temp, "openloop")
	for module, program := range map[string]string{"lab": lab, "bench": load} {
		builder := drivers.Builder{Module: filepath.Join(root, module), Environ: os.Environ()}
		_, err := builder.Go(context.Background(), "build", "-o", program, "./cmd/"+filepath.Base(program))
		require.NoError(t, err)
	}
	return lab, load
}

// TestMeasure overloads servers in small with the fork.
func TestMeasure(t *testing.T) {
	lab, load := build(t)
	backend, err := canned.Start(context.Background())
	require.NoError(t, err)
	defer backend.Close()
	overload := base(Sustained, arrival.Load{Base: 4}, time.Second)
	overload.Plan.Clients, overload.Plan.Warmup, overload.Arms = 1, time.Second, []string{Fork, Drained}
	member := members()[1]
	member.Plan.Duration, member.Plan.Interval, member.Arms = time.Second, time.Second, []string{Fork}

	results, err := Measure(context.Background(), Config{
		Arms: []Arm{
			{Name: Fork, Program: load},
			{Name: Drained, Program: load, Options: "adaptiveRetries=true", Drain: true},
		},
		Lab: lab, Backend: backend.URI(), Root: "/", Scenarios: []Scenario{overload, member},
		Storm: Storm{Clients: 3, PerSecond: 100, Queue: 100, Limit: time.Minute},
	})
	require.NoError(t, err)
	require.Len(t, results.Runs, 3)
	fork, drained, one := results.Runs[0], results.Runs[1], results.Runs[2]

	assert.Positive(t, fork.Report.Rejected)
	assert.Greater(t, fork.CommandsPerOperation(), 2.0)
	require.NotNil(t, drained.Report.Drain)
	assert.Greater(t, drained.Report.Drain.Commands[0], 2*drained.Report.Drain.Operations)
	assert.Less(t, drained.CommandsPerOperation(), 1.5, "there are no tokens but those that successes earn")
	assert.Positive(t, drained.Goodput())
	assert.Greater(t, one.CommandsPerOperation(), 1.0, "the first member rejects")
	require.Len(t, results.Storms, 1)
	assert.Equal(t, 3, results.Storms[0].Report.Connected)
}

func TestMeasureErrors(t *testing.T) {
	scenario := base(Control, arrival.Load{Base: 1}, time.Second)
	_, err := Measure(context.Background(), Config{
		Lab: filepath.Join(t.TempDir(), "none"), Arms: []Arm{{Name: Fork}}, Scenarios: []Scenario{scenario},
	})
	assert.ErrorContains(t, err, "control, 1 × capacity")
	assert.ErrorContains(t, err, "none")
}

func TestFigures(t *testing.T) {
	r := Run{
		Scenario: Scenario{RejectionCost: 0.5, Plan: openloop.Plan{Capacity: 10, Duration: 2 * time.Second}},
		Report: &openloop.Report{
			Arrived: 20, Succeeded: 5, Failed: 13, Commands: 27, GivenUp: 2, Served: 4, Rejected: 20, Good: 4,
			Clients: []openloop.Share{{Arrived: 10, Succeeded: 5}, {Arrived: 10}, {}},
		},
	}
	assert.InDelta(t, 0.2, r.Goodput(), 1e-9)
	assert.InDelta(t, 0.7, r.Work(), 1e-9)
	assert.InDelta(t, 1.5, r.CommandsPerOperation(), 1e-9)
	assert.InDelta(t, 0.75, r.Errors(), 1e-9)
	assert.InDelta(t, 0.1, r.GivenUp(), 1e-9)
	assert.InDelta(t, 0.5, r.Fairness(), 1e-9, "one of two clients has everything")
	r.Report.Clients = nil
	assert.Equal(t, 1.0, r.Fairness())
}

func TestScenarios(t *testing.T) {
	for _, s := range Scenarios() {
		assert.NotEmpty(t, s.Arms, s)
		assert.NoError(t, s.Plan.Load.Check(), s)
	}
}
