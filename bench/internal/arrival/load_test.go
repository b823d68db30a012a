package arrival

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestLoad(t *testing.T) {
	l := Load{Base: 1, Peak: 3, Start: 10, Burst: 2, Period: 5}
	for at, want := range map[time.Duration]float64{0: 1, 9: 1, 10: 3, 11: 3, 12: 1, 14: 1, 15: 3, 17: 1} {
		assert.Equal(t, want, l.at(at), "at %d", at)
	}
	assert.Equal(t, 3.0, l.highest())
	assert.Equal(t, 1.0, Load{Base: 1}.highest())
}

func TestCheck(t *testing.T) {
	assert.NoError(t, Load{Base: 1}.Check())
	assert.ErrorContains(t, Load{}.Check(), "load is 0")
	assert.ErrorContains(t, Load{Base: -1, Peak: 1, Burst: 1, Period: 1}.Check(), "must be positive")
	assert.ErrorContains(t, Load{Base: 1, Burst: 2, Period: 1}.Check(), "burst of 2ns is longer")
}

// TestNext counts the arrivals of a minute: 3000 a second for a quarter of the time, 1000 in the rest.
func TestNext(t *testing.T) {
	l := Load{Base: 1, Peak: 3, Burst: time.Second, Period: 4 * time.Second}
	random := NewRandom(1)
	var peak, base int
	for now := l.Next(random, 0, 1000); now < time.Minute; now = l.Next(random, now, 1000) {
		if now%l.Period < l.Burst {
			peak++
		} else {
			base++
		}
	}
	// Each is 45,000, give or take five times its square root.
	assert.InDelta(t, 45_000, peak, 1060)
	assert.InDelta(t, 45_000, base, 1060)
}
