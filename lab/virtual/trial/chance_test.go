package trial

import (
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
			c := &Chance{Seed: 1}
			for range before {
				c.Draw("b.go")
			}
			return c.Draw("a.go")
		}
		first := draw(0)
		assert.Equal(t, first, draw(3))
		c := &Chance{Seed: 1}
		assert.NotEqual(t, c.Draw("a.go"), c.Draw("a.go"))
		time.Sleep(time.Nanosecond)
		assert.NotEqual(t, first, draw(0))
		assert.NotEqual(t, (&Chance{Seed: 1}).Draw("a.go"), (&Chance{Seed: 2}).Draw("a.go"), "another seed")
	})
}
