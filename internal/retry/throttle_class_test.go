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
		{chosen: 0, own: 9, want: 0},
		{chosen: 3, own: 9, want: 0.3},
		{chosen: 12, own: 9, want: 1},
		{chosen: 3, before: []float64{5}, own: 9, want: 0},
		{chosen: 8, before: []float64{5}, own: 9, want: 0.3},
		{chosen: 8, before: []float64{2, 3}, own: 9, want: 0.3},
		{chosen: 8, before: []float64{5}, own: 0, want: 1},
		{chosen: 0.3, own: 0, want: 0.3},
		{chosen: 5, before: []float64{5}, own: 0, want: 0},
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

// TestThrottleClasses: what is too much is taken from the least critical first.
func TestThrottleClasses(t *testing.T) {
	type probabilities map[Criticality]float64
	tests := []struct {
		name     string
		accepted int // of 100 attempts, in the order of the classes: 50, 30 and 20
		want     probabilities
	}{
		// 100 - 1.1*80 = 12 are too many.
		{name: "some of the lowest", accepted: 80, want: probabilities{Sheddable: 12.0 / 51, Normal: 0, Critical: 0}},
		{name: "all of it and some of the next", accepted: 40, want: probabilities{Sheddable: 1, Normal: 6.0 / 31, Critical: 0}},
		{name: "some of what is critical", accepted: 10, want: probabilities{Sheddable: 1, Normal: 1, Critical: 9.0 / 21}},
		{name: "nearly everything", accepted: 0, want: probabilities{Sheddable: 1, Normal: 1, Critical: 20.0 / 21}},
		{name: "nothing", accepted: 95, want: probabilities{Sheddable: 0, Normal: 0, Critical: 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			throttle, clock := newThrottle()
			throttle.Ended(Attempt{Criticality: Sheddable}, true)
			i := 1
			for _, class := range []struct {
				Criticality
				attempts int
			}{{Sheddable, 49}, {Normal, 30}, {Critical, 20}} {
				repeat(class.attempts, func() {
					throttle.Ended(Attempt{Criticality: class.Criticality}, i > tt.accepted)
					i++
				})
			}
			for c, want := range tt.want {
				if got := throttle.probability(clock.time, Attempt{Criticality: c}); math.Abs(got-want) > 1e-9 {
					t.Errorf("of what is %v %v is refused, want %v", c, got, want)
				}
			}
		})
	}
}

// TestThrottleFirstsAlone: first attempts are judged by first attempts, unless there are none, or other classes.
func TestThrottleFirstsAlone(t *testing.T) {
	for _, tt := range []struct {
		name                             string
		accepted, rejected               int // first attempts
		retriesAccepted, retriesRejected int
		critical                         int // retries that are accepted
		first, retry                     float64
	}{
		{name: "a few are always rejected", accepted: 93, rejected: 7, retriesRejected: 30, first: 0, retry: (130 - 1.1*93) / 131},
		{name: "an overload", accepted: 50, rejected: 50, retriesAccepted: 20, retriesRejected: 20, first: (140 - 1.1*70) / 141.0,
			retry: (140 - 1.1*70) / 141},
		{name: "retries in vain", accepted: 50, rejected: 50, retriesRejected: 50, first: (150 - 1.1*75) / 151,
			retry: (150 - 1.1*50) / 151},
		{name: "no first ones are known", retriesAccepted: 10, retriesRejected: 10, first: 9.0 / 21, retry: 9.0 / 21},
		{name: "classes", accepted: 50, rejected: 5, retriesRejected: 25, critical: 20, first: (100 - 1.1*70) / 81,
			retry: (100 - 1.1*70) / 81},
	} {
		throttle, clock := newThrottle()
		repeat(tt.rejected, func() { throttle.Ended(Attempt{First: true}, true) })
		repeat(tt.retriesRejected, func() { throttle.Ended(Attempt{}, true) })
		repeat(tt.accepted, func() { throttle.Ended(Attempt{First: true}, false) })
		repeat(tt.retriesAccepted, func() { throttle.Ended(Attempt{}, false) })
		repeat(tt.critical, func() { throttle.Ended(Attempt{Criticality: Critical}, false) })
		for first, want := range map[bool]float64{true: tt.first, false: tt.retry} {
			if got := throttle.probability(clock.time, Attempt{First: first}); math.Abs(got-want) > 1e-9 {
				t.Errorf("%s: first is %v: %v is held back, want %v", tt.name, first, got, want)
			}
		}
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

// TestThrottleReserve: a client of which the server has accepted nothing sends what is critical instead of what is not.
func TestThrottleReserve(t *testing.T) {
	for _, tt := range []struct {
		name                        string
		sheddable, normal, critical int
		risen                       float64                 // the floor
		want                        map[Criticality]float64 // shares that are always sent
	}{
		{"a little is critical", 70, 15, 15, 0, map[Criticality]float64{Critical: 1, Normal: 5.0 / 16, Sheddable: 0}},
		{"much is critical", 60, 0, 40, 0, map[Criticality]float64{Critical: 20.0 / 41, Sheddable: 0}},
		{"no more than others give up", 5, 0, 95, 0, map[Criticality]float64{Critical: 5.0 / 96}},
		{"there are no others", 0, 0, 100, 0, map[Criticality]float64{Critical: 0.01}},
		{"nothing is marked", 0, 100, 0, 0, map[Criticality]float64{Normal: 0.01}},
		{"nothing is marked, and the floor has risen", 0, 100, 0, 0.6, map[Criticality]float64{Normal: 0.61}},
		{"a floor that has risen is everybody's", 50, 0, 50, 0.6, map[Criticality]float64{Critical: 0.6 + 20.0/51, Sheddable: 0.6}},
		{"it never exceeds all", 85, 0, 15, 0.6, map[Criticality]float64{Critical: 1, Sheddable: 0.6}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			throttle, clock := newThrottle()
			throttle.known.floor = DefaultThrottling().Floor.start()
			throttle.known.floor.share += tt.risen
			for i, n := range []int{tt.sheddable, tt.normal, tt.critical} {
				throttle.known.classes[i] = counts{attempts: float64(n), at: clock.time}
				throttle.known.all.attempts += float64(n)
			}
			for c, want := range tt.want {
				if got := throttle.spared(c); math.Abs(got-want) > 1e-4 {
					t.Errorf("of what is %v %v is always sent, want %v", c, got, want)
				}
			}
		})
	}
}

// TestThrottleCriticalInVain: where what is critical is rejected whatever is sent, what is accepted is soon sent again.
func TestThrottleCriticalInVain(t *testing.T) {
	throttle, clock := newThrottle()
	random := rand.New(rand.NewSource(1))
	sent := make([]int, 30)
	for i := range sent {
		for j := 0; j < 100; j++ {
			clock.advance(10 * time.Millisecond)
			switch {
			case random.Float64() < 0.3:
				repeat(6, func() { attempt(throttle, random, Attempt{Criticality: Critical, First: true}, 0) })
			case attempt(throttle, random, Attempt{First: true}, 1):
				sent[i]++
			}
		}
	}
	later := 0
	for _, n := range sent[10:] {
		later += n
	}
	if sent[3] > 10 || later < 50*20 {
		t.Errorf("in each second %v of 70 were sent", sent)
	}
}
