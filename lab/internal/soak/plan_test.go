package soak

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestPlan(t *testing.T) {
	for seed := range uint64(50) {
		const duration, members = 90 * time.Second, 3
		happened := map[Action]int{}
		var free time.Duration
		for i, e := range Plan(seed, duration, members) {
			happened[e.Action]++
			assert.GreaterOrEqual(t, e.At, free, "seed %d: %v begins before a member is back", seed, e)
			free = e.At + e.For
			if e.ofMember() {
				free += recovery
			}
			assert.LessOrEqual(t, e.At+e.For, duration-duration/10, "seed %d: %v", seed, e)
			assert.True(t, e.Member >= 0 && e.Member < members, "seed %d: %v", seed, e)
			assert.Equal(t, e.Action == Overload || e.Action == ConnectionLimit, e.Rate > 0, "seed %d: %v", seed, e)
			assert.Equal(t, e.Action != StepDown, e.For > 0, "seed %d: %v", seed, e)
			assert.True(t, e.Action != CommitKill || e.Primary && e.For > commitHold, "seed %d: %v", seed, e)
			if i+1 == len(actions) {
				assert.Len(t, happened, len(actions), "seed %d: each happens once before any does again", seed)
			}
		}
		assert.Len(t, happened, len(actions), "seed %d: a run of 90 s sees everything", seed)
	}
	assert.Equal(t, Plan(7, time.Minute, 3), Plan(7, time.Minute, 3))
	assert.NotEqual(t, Plan(7, time.Minute, 3), Plan(8, time.Minute, 3), "another seed")
}

func TestPlanOfAShortRunIsEmpty(t *testing.T) {
	assert.Empty(t, Plan(1, 0, 3))
}

func TestEventSaysWhatHappens(t *testing.T) {
	const second, two = time.Second, 2 * time.Second
	for want, e := range map[string]Event{
		"1s: at most 50 requests a second for 2s":                            {At: second, Action: Overload, For: two, Rate: 50},
		"1s: at most 5 connections a second for 2s, those to member 1 reset": {At: second, Action: ConnectionLimit, For: two, Rate: 5, Member: 1},
		"1s: kill of member 2 for 2s":                                        {At: second, Action: Kill, Member: 2, For: two},
		"1s: pause of the primary for 2s":                                    {At: second, Action: Pause, Member: 2, Primary: true, For: two},
		"1s: 40 % of the requests are rejected for 2s":                       {At: second, Action: Rejections, For: two},
		"1s: step-down": {At: second, Action: StepDown, Member: 2},
	} {
		assert.Equal(t, want, e.String())
	}
}
