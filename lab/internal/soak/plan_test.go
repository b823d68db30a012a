package soak

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestPlan(t *testing.T) {
	for seed := range uint64(50) {
		const duration, members = 90 * time.Second, 3
		happened := map[*Action]int{}
		var free time.Duration
		for i, e := range Plan(seed, duration, members, actions) {
			happened[e.Action]++
			assert.GreaterOrEqual(t, e.At, free, "seed %d: %v begins before a member is back", seed, e)
			free = e.At + e.For
			if e.Action.ofMember {
				free += recovery
			}
			assert.LessOrEqual(t, e.At+e.For, duration-duration/10, "seed %d: %v", seed, e)
			assert.True(t, e.Member >= 0 && e.Member < members, "seed %d: %v", seed, e)
			assert.Equal(t, e.Action == &overloaded || e.Action == &refusing, e.Rate > 0, "seed %d: %v", seed, e)
			assert.Equal(t, e.Action != &stepDown, e.For > 0, "seed %d: %v", seed, e)
			if i+1 == len(actions) {
				assert.Len(t, happened, len(actions), "seed %d: each happens once before any does again", seed)
			}
		}
		assert.Len(t, happened, len(actions), "seed %d: a run of 90 s sees everything", seed)
	}
	assert.Equal(t, Plan(7, time.Minute, 3, actions), Plan(7, time.Minute, 3, actions))
	assert.NotEqual(t, Plan(7, time.Minute, 3, actions), Plan(8, time.Minute, 3, actions), "another seed")
}

func TestPlanOfAShortRunIsEmpty(t *testing.T) {
	assert.Empty(t, Plan(1, 0, 3, actions))
}

func TestActions(t *testing.T) {
	all, err := Actions(nil)
	assert.NoError(t, err)
	assert.Equal(t, actions, all)
	chosen, err := Actions([]string{"pause", "overload"})
	assert.NoError(t, err)
	assert.Equal(t, []*Action{&pause, &overloaded}, chosen)
	_, err = Actions([]string{"flood"})
	assert.ErrorContains(t, err, `no fault "flood"`)
}
