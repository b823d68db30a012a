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

func TestJump(t *testing.T) {
	const s = time.Second
	r := newRun(Job{Seed: 1, Scenario: Scenario{
		Clients: 1, Load: Load{Base: 1}, Capacity: 100, Duration: 9 * s, Jump: Jump{3 * s, 2 * s},
	}}, nil)
	perSecond := make([]float64, 10)
	for _, op := range r.operations {
		perSecond[op.due/s]++
	}
	for i, want := range []float64{100, 100, 100, 0, 0, 100, 100, 100, 100, 100} {
		assert.InDelta(t, want, perSecond[i], 0.4*want, "second %d", i)
	}
	for now, want := range map[time.Duration]time.Duration{0: 0, 3 * s: 2 * s, 4 * s: s, 5 * s: 0, 6 * s: 0} {
		assert.Equal(t, want, r.job.Scenario.Jump.left(now), "at %v", now)
	}
}

func TestResult(t *testing.T) {
	const s = time.Second
	r := &run{
		job: Job{Scenario: Scenario{
			Clients: 2, Capacity: 1, Warmup: s, Duration: 4 * s, Neighbours: "retryReads=false",
			Load: Load{Period: time.Hour, Start: s, Burst: s},
		}},
		classes: []Class{{Name: "x"}, {Name: "y"}}, commands: 6,
		operations: []operation{
			{due: 0, ended: s / 2},                       // before the measured time
			{due: s, ended: s + s/4},                     //
			{due: 2 * s, ended: 3 * s, class: 1},         //
			{due: 2*s + s/2, ended: 3 * s, failed: true}, // the last that failed
			{due: 3 * s, ended: 3*s + s/2, client: 1},    // of a neighbour
			{due: 6 * s, ended: 7 * s, client: 1},        // after the measured time
		},
	}
	result := r.result()
	assert.InDelta(t, 75, result.Goodput, 1e-9)
	assert.InDelta(t, 1.5, result.Commands, 1e-9)
	assert.InDelta(t, 25, result.Errors, 1e-9)
	assert.InDelta(t, 0.5, result.P50, 1e-9)
	assert.InDelta(t, 1, result.P99, 1e-9)
	assert.InDelta(t, 100*2./3, result.Own, 1e-9)
	assert.InDelta(t, 100, result.Others, 1e-9)
	assert.InDelta(t, 25./26, result.Fairness, 1e-9, "two thirds and all")
	assert.InDelta(t, 0, result.Recovery, 1e-9, "all of the first interval succeed")
	assert.InDelta(t, 0.5, result.LastError, 1e-9)
	assert.InDelta(t, 50, result.Classes[0].Failed, 1e-9, "without the neighbour")
	assert.Equal(t, ClassResult{"y", 100, 0, 1}, result.Classes[1])
}

func TestStormResult(t *testing.T) {
	const s = time.Second
	var r StormResult
	r.count([]time.Duration{0, 2 * s, s, 0, 0, s + 1})
	assert.Equal(t, StormResult{Unconnected: 3, Half: (s + 1).Seconds(), Last: 2}, r)
	var none StormResult
	none.count([]time.Duration{0, 0})
	assert.Equal(t, StormResult{Unconnected: 2}, none)
}

func TestMean(t *testing.T) {
	one := Result{Goodput: 1, Classes: []ClassResult{{Name: "a", P99: 1}}, Storm: StormResult{Last: 1}}
	two := Result{Goodput: 3, Classes: []ClassResult{{Name: "a", P99: 2}}, Storm: StormResult{Last: 2}}
	want := Result{Goodput: 2, Classes: []ClassResult{{Name: "a", P99: 1.5}}, Storm: StormResult{Last: 1.5}}
	assert.Equal(t, want, Mean([]Result{one, two}))
	assert.InDelta(t, 1, one.Goodput, 0, "it is not changed")
	assert.InDelta(t, 1, one.Classes[0].P99, 0, "nor are its classes")
}
