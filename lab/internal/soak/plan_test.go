package soak

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestPlan(t *testing.T) {
	for seed := range uint64(50) {
		const duration, members = 90 * time.Second, 3
		happened := map[*fault]int{}
		var free time.Duration
		for i, e := range plan(seed, duration, faults) {
			happened[e.Fault]++
			assert.GreaterOrEqual(t, e.At, free, "seed %d: %v begins before a member is back", seed, e)
			free = e.At + e.For
			if e.Fault.ofMember {
				free += recovery
			}
			assert.LessOrEqual(t, e.At+e.For, duration-duration/10, "seed %d: %v", seed, e)
			assert.True(t, e.Member >= 0 && e.Member < members, "seed %d: %v", seed, e)
			limit := e.Fault == named("overload") || e.Fault == named("connection limit")
			assert.Equal(t, limit, e.Rate > 0, "seed %d: %v", seed, e)
			assert.Equal(t, e.Fault != named("step-down"), e.For > 0, "seed %d: %v", seed, e)
			if i+1 == len(faults) {
				assert.Len(t, happened, len(faults), "seed %d: each happens once before any does again", seed)
			}
		}
		assert.Len(t, happened, len(faults), "seed %d: a run of 90 s sees everything", seed)
	}
	assert.Equal(t, plan(7, time.Minute, faults), plan(7, time.Minute, faults))
	assert.NotEqual(t, plan(7, time.Minute, faults), plan(8, time.Minute, faults), "another seed")
	assert.Empty(t, plan(1, 0, faults), "a short run")
}
