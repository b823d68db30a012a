package overload

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestLoad(t *testing.T) {
	burst := Load{Base: 0.5, Peak: 2, Start: time.Second, Burst: time.Second, Period: 4 * time.Second}
	r := newRun(Job{Seed: 1, Scenario: Scenario{Clients: 3, Load: burst, Capacity: 1000, Duration: 9 * time.Second, Classes: []Class{
		{Name: "a", Share: 0.2}, {Name: "b", Share: 0.8},
	}}}, nil)
	again := newRun(r.job, nil)
	assert.Equal(t, r.operations, again.operations, "the same seed, the same load")
	perSecond, perClient, second := make([]float64, 11), make([]float64, 3), 0.0
	for _, op := range r.operations {
		perSecond[op.due/time.Second]++
		perClient[op.client]++
		second += float64(op.class)
	}
	for i, want := range []float64{500, 2000, 500, 500, 500, 2000, 500, 500, 500, 2000, 0} {
		assert.InDelta(t, want, perSecond[i], 150, "second %d", i)
	}
	all := float64(len(r.operations))
	for _, n := range perClient {
		assert.InDelta(t, all/3, n, all/20)
	}
	assert.InDelta(t, 0.8*all, second, all/50)
}

func TestResult(t *testing.T) {
	const s = time.Second
	r := &run{
		job: Job{Scenario: Scenario{
			Clients: 2, Capacity: 1, Warmup: s, Duration: 4 * s, Neighbours: "retryReads=false",
			Classes: []Class{{Name: "x", Until: 2 * s}, {Name: "y"}},
		}},
		classes: []Class{{Name: "x"}, {Name: "y"}}, commands: 6, dials: 7,
		operations: []operation{
			{due: 0, ended: s / 2},                       // before the measured time
			{due: s, ended: s + s/4},                     //
			{due: 2 * s, ended: 3 * s, class: 1},         //
			{due: 2*s + s/2, ended: 3 * s, failed: true}, // the last that failed
			{due: 3 * s, ended: 3*s + s/2, client: 1},    // of a neighbour
			{due: 6 * s, ended: 7 * s, client: 1},        // after the measured time
		},
	}
	for figure, want := range map[string]float64{
		"goodput": 75, "commands": 1.5, "errors": 25, "success": 75, "p50": 0.5, "p99": 1,
		"own": 100 * 2. / 3, "others": 100, "in progress": 2.25 / 4, "dials": 7,
		"fairness":   25. / 26, // two thirds and all
		"worst":      0.8,      // two thirds of five sixths
		"last error": 0.5, "x: success": 50, "x: p99": 0.25,
		"y: success": 100, "y: p99": 1,
	} {
		assert.InDelta(t, want, r.result()[figure], 1e-9, figure)
	}
	assert.Len(t, r.result(), 17)
	assert.Equal(t, Result{"goodput": 2, "own": 3, "others": 2, "own share": 1.5},
		Mean([]Result{{"goodput": 1, "own": 2, "others": 3}, {"goodput": 3, "own": 4, "others": 1}}))
}
