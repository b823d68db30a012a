package retry

import (
	"math"
	"math/rand"
	"testing"
	"time"
)

func TestFloorSteps(t *testing.T) {
	type step struct {
		attempts int
		every    time.Duration
		accepted float64 // share, evenly
		want     float64
		givenUp  float64 // of the reserve
	}
	const ms = time.Millisecond
	tests := []struct {
		name  string
		steps []step
	}{
		{name: "at first", steps: []step{{want: 0.01}}},
		{name: "not before its patience ends", steps: []step{{attempts: 40, every: 100 * ms, want: 0.01, givenUp: 1}}},
		{name: "it rises by a half in a second", steps: []step{{attempts: 40, every: 100 * ms, want: 0.01, givenUp: 1}, {attempts: 60, every: 100 * ms, want: 1, givenUp: 1}}},
		{name: "the reserve is given up at once, by a half in a second", steps: []step{
			{attempts: 8, every: 100 * ms, want: 0.01}, {attempts: 10, every: 100 * ms, want: 0.01, givenUp: 0.5},
			{attempts: 10, every: 100 * ms, want: 0.01, givenUp: 1},
		}},
		{name: "and comes back after the floor has fallen", steps: []step{
			{attempts: 100, every: 100 * ms, want: 1, givenUp: 1}, {attempts: 50, every: 100 * ms, accepted: 1, want: 0.01, givenUp: 1},
			{attempts: 21, every: 100 * ms, accepted: 1, want: 0.01},
		}},
		{name: "not for a client that sends little", steps: []step{{attempts: 100, every: 300 * ms, want: 0.01}}},
		{name: "not while most is accepted", steps: []step{{attempts: 100, every: 100 * ms, accepted: 0.8, want: 0.01}}},
		{name: "it stays between low and high", steps: []step{
			{attempts: 100, every: 100 * ms, want: 1, givenUp: 1}, {attempts: 100, every: 100 * ms, accepted: 0.75, want: 1, givenUp: 1},
		}},
		{name: "its patience begins anew between low and high", steps: []step{
			{attempts: 22, every: 100 * ms, want: 0.01, givenUp: 0.7}, {attempts: 14, every: 100 * ms, accepted: 1, want: 0.01, givenUp: 1},
			{attempts: 40, every: 100 * ms, accepted: 0.75, want: 0.01, givenUp: 1}, {attempts: 22, every: 100 * ms, want: 0.01, givenUp: 1},
		}},
		{name: "and above high", steps: []step{
			{attempts: 100, every: 100 * ms, want: 1, givenUp: 1}, {attempts: 36, every: 100 * ms, accepted: 1, want: 0.75, givenUp: 1},
			{attempts: 25, every: 100 * ms, want: 0.7, givenUp: 1},
		}},
		{name: "it falls while nearly all is accepted", steps: []step{
			{attempts: 100, every: 100 * ms, want: 1, givenUp: 1}, {attempts: 100, every: 100 * ms, accepted: 1, want: 0.01},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rule := DefaultThrottling().Floor
			floor := rule.start()
			for i, s := range tt.steps {
				due := 0.0
				for j := 0; j < s.attempts; j++ {
					due += s.accepted
					accepted := due >= 1
					if accepted {
						due--
					}
					floor.move(rule, accepted, s.every, s.every)
				}
				if math.Abs(floor.share-s.want) > 0.05 {
					t.Fatalf("step %d: the floor is %v, want %v", i+1, floor.share, s.want)
				}
				if math.Abs(1-floor.reserve-s.givenUp) > 0.04 {
					t.Fatalf("step %d: %v of the reserve is given up, want %v", i+1, 1-floor.reserve, s.givenUp)
				}
			}
		})
	}
}

// TestThrottleFloor: of the first attempts at a server that rejects everything, the least floor is sent, and once it is clear that
// holding back does not help, all.
func TestThrottleFloor(t *testing.T) {
	throttle, clock := newThrottle()
	random := rand.New(rand.NewSource(1))
	sent := make([]int, 30)
	for i := range sent {
		for j := 0; j < 1000; j++ {
			clock.advance(time.Millisecond)
			if attempt(throttle, random, Attempt{First: true}, 0) {
				sent[i]++
			}
		}
	}
	if sent[2] > 50 || sent[29] != 1000 {
		t.Errorf("in each second %v of 1000 were sent", sent)
	}
}
