package retry

import (
	"math"
	"math/rand"
	"testing"
	"time"
)

// TestShare: what is chosen is taken from the classes in their order.
func TestShare(t *testing.T) {
	for _, tt := range []struct {
		chosen float64
		before []float64
		own    float64
		want   float64
	}{
		{chosen: 0, own: 10, want: 0},
		{chosen: 3, own: 10, want: 0.3},
		{chosen: 12, own: 10, want: 1},
		{chosen: 3, before: []float64{5}, own: 10, want: 0},
		{chosen: 8, before: []float64{5}, own: 10, want: 0.3},
		{chosen: 8, before: []float64{2, 3}, own: 10, want: 0.3},
		{chosen: 8, before: []float64{5}, own: 0, want: 1},
		{chosen: 5, before: []float64{5}, own: 0, want: 0},
		{chosen: 0, own: 0, want: 0},
	} {
		before := make([]counts, len(tt.before))
		for i, attempts := range tt.before {
			before[i].attempts = attempts
		}
		if got := share(tt.chosen, before, counts{attempts: tt.own}); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%v of %v after %v: %v, want %v", tt.chosen, tt.own, tt.before, got, tt.want)
		}
	}
}

// TestThrottleClasses: as many are refused in all as without classes, the least critical first.
func TestThrottleClasses(t *testing.T) {
	throttle, clock := newThrottle()
	class := map[Criticality]int{Critical: 20, Normal: 30, Sheddable: 50}
	for c, n := range class {
		accepted := n / 2
		repeat(accepted, func() { throttle.Ended(Attempt{Criticality: c}, false) })
		repeat(n-accepted, func() { throttle.Ended(Attempt{Criticality: c}, true) })
	}
	// What was accepted before the first rejection is not known: that makes 100 attempts less those of the first class.
	attempts, _ := throttle.known.total()
	refused := throttle.State().Probability * attempts
	sum := 0.0
	for c := range class {
		sum += throttle.probability(clock.time, c) * throttle.known.classes[c.class()].attempts
	}
	if math.Abs(sum-refused) > 1e-9 {
		t.Errorf("%v are refused, want %v", sum, refused)
	}
	if p := throttle.probability(clock.time, Critical); p != 0 {
		t.Errorf("of what is critical %v is refused, want none", p)
	}
	if p := throttle.probability(clock.time, Sheddable); p < 0.5 {
		t.Errorf("of what is sheddable only %v is refused", p)
	}
}

// TestThrottleOneClass: any class alone is treated as if there were none.
func TestThrottleOneClass(t *testing.T) {
	outcome := func(c Criticality) (sent int) {
		throttle, clock := newThrottle()
		random := rand.New(rand.NewSource(1))
		for i := 0; i < 10_000; i++ {
			clock.advance(time.Millisecond)
			if attempt(throttle, random, Attempt{Criticality: c, First: i%2 == 0}, 0.3) {
				sent++
			}
		}
		return sent
	}
	normal := outcome(Normal)
	for _, c := range []Criticality{Sheddable, Critical} {
		if got := outcome(c); got != normal {
			t.Errorf("%v alone: %d were sent, want %d", c, got, normal)
		}
	}
}

// TestThrottleFloorIsFilledFromTheTop: where nothing is accepted, what is spared is critical.
func TestThrottleFloorIsFilledFromTheTop(t *testing.T) {
	throttle, clock := newThrottle()
	random := rand.New(rand.NewSource(1))
	sent := map[Criticality]int{}
	for i := 0; i < 3000; i++ { // the floor does not rise in this time
		clock.advance(time.Millisecond)
		c := Criticality(i%3 - 1)
		if attempt(throttle, random, Attempt{Criticality: c, First: true}, 0) && i > 1500 {
			sent[c]++
		}
	}
	if sent[Critical] < 10 || sent[Sheddable] > 0 || sent[Normal] > 0 {
		t.Errorf("%v were sent", sent)
	}
}
