package soak

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPlanFollowsFromItsArguments(t *testing.T) {
	plan := Plan(7, time.Minute, 3)
	require.NotEmpty(t, plan)
	assert.Equal(t, plan, Plan(7, time.Minute, 3))
	assert.NotEqual(t, plan, Plan(8, time.Minute, 3), "another seed")
	assert.NotEqual(t, plan, Plan(7, time.Minute, 2), "another number of fronts")
}

func TestRealPlan(t *testing.T) {
	for seed := range uint64(50) {
		const duration, members = 90 * time.Second, 3
		happened := map[Action]int{}
		var free time.Duration
		for i, e := range RealPlan(seed, duration, members) {
			happened[e.Action]++
			assert.GreaterOrEqual(t, e.At, free, "seed %d: %v begins before a member is back", seed, e)
			free = e.At + e.For
			if e.OfMember() {
				free += recovery
			}
			assert.LessOrEqual(t, e.At+e.For, duration-duration/10, "seed %d: %v", seed, e)
			assert.True(t, e.Front >= 0 && e.Front < members, "seed %d: %v", seed, e)
			assert.True(t, e.Action != CommitKill || e.Primary && e.For > CommitHold, "seed %d: %v", seed, e)
			if i+1 == len(realActions) {
				assert.Len(t, happened, len(realActions), "seed %d: each happens once before any does again", seed)
			}
		}
		assert.Len(t, happened, len(realActions), "seed %d: a run of 90 s sees everything", seed)
	}
	assert.Equal(t, RealPlan(7, time.Minute, 3), RealPlan(7, time.Minute, 3))
	assert.NotEqual(t, RealPlan(7, time.Minute, 3), RealPlan(8, time.Minute, 3), "another seed")
}

func TestPlan(t *testing.T) {
	for seed := range uint64(50) {
		const duration, fronts = 30 * time.Second, 3
		plan := Plan(seed, duration, fronts)
		happened := map[Action]int{}
		busy := duration / 10
		for i, e := range plan {
			happened[e.Action]++
			assert.GreaterOrEqual(t, e.At, busy, "seed %d: %v begins while another event, or the quiet start, goes on", seed, e)
			busy = e.At + e.For
			assert.LessOrEqual(t, busy, duration-duration/10, "seed %d: %v", seed, e)
			assert.True(t, e.Front >= 0 && e.Front < fronts, "seed %d: %v", seed, e)
			limits := e.Action == Overload || e.Action == ConnectionLimit
			assert.Equal(t, limits, e.Rate > 0, "seed %d: %v", seed, e)
			assert.Equal(t, e.Action != StepDown, e.For > 0, "seed %d: %v", seed, e)
			if i+1 == len(madeActions) {
				assert.Len(t, happened, len(madeActions), "seed %d: each happens once before any does again", seed)
			}
		}
		assert.Len(t, happened, len(madeActions), "seed %d: a run of 30 s sees everything", seed)
	}
}

func TestPlanOfAShortRunIsEmpty(t *testing.T) {
	assert.Empty(t, Plan(1, 0, 3))
}

func TestEventSaysWhatHappens(t *testing.T) {
	for want, e := range map[string]Event{
		"1s: at most 50 requests a second for 2s":                                {At: time.Second, Action: Overload, For: 2 * time.Second, Rate: 50},
		"1s: at most 5 connections a second for 2s, front 1 reset":               {At: time.Second, Action: ConnectionLimit, For: 2 * time.Second, Rate: 5, Front: 1},
		"1s: member 2 is killed, and back after 2s":                              {At: time.Second, Action: Kill, Front: 2, For: 2 * time.Second},
		"1s: the primary stops for 2s":                                           {At: time.Second, Action: Pause, Front: 2, Primary: true, For: 2 * time.Second},
		"1s: the primary is cut off from the others for 2s":                      {At: time.Second, Action: Isolate, Primary: true, For: 2 * time.Second},
		"1s: 40 % of the requests are rejected for 2s":                           {At: time.Second, Action: Rejections, For: 2 * time.Second},
		"1s: the primary is killed while transactions commit, and back after 2s": {At: time.Second, Action: CommitKill, Primary: true, For: 2 * time.Second},
		"1s: step-down":              {At: time.Second, Action: StepDown, Front: 2},
		"1s: front 2 is slow for 2s": {At: time.Second, Action: Slow, For: 2 * time.Second, Front: 2},
	} {
		assert.Equal(t, want, e.String())
	}
}
