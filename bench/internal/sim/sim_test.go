package sim

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mongofork/bench/internal/arrival"
)

// overload is a steady overload of one server after its start has been forgotten.
func overload(p Policy, load, cost float64) Scenario {
	return Scenario{
		Policy: p, Servers: 1, Clients: 1, Capacity: 1000, RejectionCost: cost, Queue: 20 * time.Millisecond,
		Load: arrival.Load{Base: load}, Warmup: 10 * time.Second, Duration: 20 * time.Second, Seed: 1,
	}
}

// sample is the mean of a figure over several seeds and the standard error of the mean.
type sample struct{ mean, err float64 }

func sampleOf(values []float64) sample {
	var sum, squares float64
	n := float64(len(values))
	for _, v := range values {
		sum += v
	}
	for _, v := range values {
		squares += (v - sum/n) * (v - sum/n)
	}
	return sample{mean: sum / n, err: math.Sqrt(squares / (n - 1) / n)}
}

// simulate runs a scenario under ten seeds.
func simulate(t *testing.T, s Scenario) (goodput, commands sample) {
	t.Helper()
	var goodputs, multiples []float64
	for seed := range uint64(10) {
		s.Seed = seed
		r, err := Run(s)
		require.NoError(t, err)
		goodputs = append(goodputs, r.Goodput)
		multiples = append(multiples, r.CommandsPerOperation)
	}
	return sampleOf(goodputs), sampleOf(multiples)
}

// TestSteadyOverload holds the simulation against arithmetic.
func TestSteadyOverload(t *testing.T) {
	// What the arithmetic leaves out, chiefly that rejections come in runs, is worth less than this much.
	const (
		goodputModel  = 0.004
		commandsModel = 0.015
		errors        = 4 // standard errors; one comparison in ten thousand passes them by chance
	)
	for _, policy := range []Policy{NoRetry, TwoRetries, FiveRetries, DrainedBucket} {
		for _, load := range []float64{1.5, 2, 4} {
			for _, cost := range []float64{0.02, 0.1} {
				t.Run(fmt.Sprintf("%s/load %v/cost %v", policy, load, cost), func(t *testing.T) {
					t.Parallel()
					want := steady(policy, load, cost)
					goodput, commands := simulate(t, overload(policy, load, cost))
					assert.InDelta(t, want.goodput, goodput.mean, goodputModel+errors*goodput.err, "goodput")
					assert.InDelta(t, want.commands, commands.mean, commandsModel+errors*commands.err, "commands per operation")
				})
			}
		}
	}
}

// TestReferences holds the simulation against figures that are not its own, at twice the capacity, a rejection costing a
// tenth of an operation: measurements with real drivers, and for the bucket another model of it.
func TestReferences(t *testing.T) {
	// The figures were given in percent and tenths, the measurements are of single runs on a machine whose capacity is
	// known to two or three percent, and their network took time.
	const (
		goodputNoise  = 0.03
		commandsNoise = 0.11
	)
	tests := []struct {
		source            string
		policy            Policy
		goodput, commands float64
	}{
		{"measured", NoRetry, 0.88, 1},
		{"measured", TwoRetries, 0.49, 2.7},
		{"measured", FiveRetries, 0, 5.9},
		{"modelled", DrainedBucket, 0.87, 1.07},
	}
	for _, tt := range tests {
		t.Run(tt.source+"/"+string(tt.policy), func(t *testing.T) {
			t.Parallel()
			goodput, commands := simulate(t, overload(tt.policy, 2, 0.1))
			assert.InDelta(t, tt.goodput, goodput.mean, goodputNoise, "goodput")
			assert.InDelta(t, tt.commands, commands.mean, commandsNoise, "commands per operation")
		})
	}
}

func TestRunIsRepeatable(t *testing.T) {
	s := overload(FullBucket, 2, 0.1)
	s.Clients, s.Servers, s.Duration, s.Interval = 7, 3, 2*time.Second, 300*time.Millisecond
	first, err := Run(s)
	require.NoError(t, err)
	second, err := Run(s)
	require.NoError(t, err)
	assert.Equal(t, first, second)

	s.Seed++
	third, err := Run(s)
	require.NoError(t, err)
	assert.NotEqual(t, first.Series, third.Series)
}

func TestBelowCapacityNothingIsRejected(t *testing.T) {
	s := overload(FiveRetries, 0.5, 0.1)
	s.Queue = time.Second
	r, err := Run(s)
	require.NoError(t, err)
	assert.Zero(t, r.Errors)
	assert.Equal(t, 1.0, r.CommandsPerOperation)
	// The arrivals are random: 20 s at 500 a second are 10,000, give or take four times their square root.
	assert.InDelta(t, 0.5, r.Goodput, 0.5*4/100)
}

// TestTokensOfManyClients shows where the bucket bends: so many clients hold as many tokens as they would spend without
// a bucket.
func TestTokensOfManyClients(t *testing.T) {
	s := overload(FullBucket, 2, 0.1)
	s.Warmup, s.Duration = 0, 10*time.Second

	few, err := Run(s)
	require.NoError(t, err)
	assert.Less(t, few.CommandsPerOperation, 1.15)
	assert.Less(t, few.Drained, time.Second)

	// 2000 operations a second for 10 s can spend at most 5 tokens each, 100,000.
	s.Clients = 1000
	many, err := Run(s)
	require.NoError(t, err)
	s.Policy = FiveRetries
	unlimited, err := Run(s)
	require.NoError(t, err)
	assert.Equal(t, unlimited.Sent, many.Sent)
	assert.Zero(t, many.Drained)
}

func TestRetriesLeaveAServerThatRejected(t *testing.T) {
	r := newRun(Scenario{Policy: FiveRetries, Servers: 2, Clients: 1, Capacity: 1000, Load: arrival.Load{Base: 1}, Seed: 1})
	op := &operation{server: noServer, client: r.clients[0]}
	r.send(op)
	for range 100 {
		before := op.server
		r.send(op)
		require.NotEqual(t, before, op.server)
	}
}

func TestValidate(t *testing.T) {
	valid := overload(NoRetry, 1, 0.1)
	require.NoError(t, valid.Validate())
	tests := []struct {
		spoil func(*Scenario)
		want  string
	}{
		{func(s *Scenario) { s.Policy = "x" }, `unknown policy "x"`},
		{func(s *Scenario) { s.Servers = 0 }, "servers is 0"},
		{func(s *Scenario) { s.Clients = -1 }, "clients is -1"},
		{func(s *Scenario) { s.Capacity = 0 }, "capacity is 0"},
		{func(s *Scenario) { s.RejectionCost = 1 }, "rejection cost is 1"},
		{func(s *Scenario) { s.Queue = -1 }, "queue is -1ns"},
		{func(s *Scenario) { s.Selection = "y" }, `unknown selection "y"`},
		{func(s *Scenario) { s.Limit = -1 }, "limit is -1"},
		{func(s *Scenario) { s.Load.Base = 0 }, "load is 0"},
		{func(s *Scenario) { s.Load.Burst, s.Load.Period = 2, 1 }, "burst of 2ns is longer"},
		{func(s *Scenario) { s.Interval = -1 }, "interval is -1ns"},
		{func(s *Scenario) { s.Duration = 0 }, "duration is 0s"},
	}
	for _, tt := range tests {
		s := valid
		tt.spoil(&s)
		_, err := Run(s)
		assert.ErrorContains(t, err, tt.want)
	}
}
