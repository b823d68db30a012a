package trial

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestChance is about numbers that do not depend on what has been drawn before.
func TestChance(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		draw := func(before int) uint64 {
			c := newChance(1)
			for range before {
				c.Draw("b.go")
			}
			return c.Draw("a.go")
		}
		first := draw(0)
		assert.Equal(t, first, draw(3))
		c := newChance(1)
		assert.NotEqual(t, c.Draw("a.go"), c.Draw("a.go"))
		time.Sleep(time.Nanosecond)
		assert.NotEqual(t, first, draw(0))
		assert.NotEqual(t, newChance(1).Draw("a.go"), newChance(1).Draw("b.go"))
		assert.NotEqual(t, newChance(1).Draw("a.go"), newChance(2).Draw("a.go"), "another seed")
		high := 0
		for seed := range uint64(1000) {
			high += int(newChance(seed).Draw("a.go") >> 63)
		}
		assert.InDelta(t, 500, high, 60)
	})
}

// TestWorkersDrawTheirOwn is about goroutines that draw at one instant, in any order.
func TestWorkersDrawTheirOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		drawn := func(order ...int) map[int]uint64 {
			c, numbers := newChance(1), map[int]uint64{}
			for _, worker := range order {
				var working sync.WaitGroup
				working.Go(func() {
					c.enter(worker)
					numbers[worker] = c.Draw("a.go")
				})
				working.Wait()
			}
			return numbers
		}
		assert.Equal(t, drawn(1, 2, 3), drawn(3, 1, 2))
		assert.NotEqual(t, drawn(1)[1], drawn(2)[2])
	})
}
