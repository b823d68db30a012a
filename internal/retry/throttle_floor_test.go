package retry

import (
	"math"
	"math/rand"
	"testing"
	"time"
)

func TestFloorSteps(t *testing.T) {
	type step struct {
		attempts  int
		every     time.Duration
		accepted  float64 // share, evenly
		inClasses bool
		soon      bool // the overload does not last yet
		want      float64
		givenUp   float64 // of the reserve
	}
	const ms = time.Millisecond
	// 10 % of rejections are usual. All rejected is 0.65 for the quick evidence, which 7 attempts give; a quarter rejected is 0.13 for
	// the other, which 93 attempts give.
	tests := []struct {
		name  string
		steps []step
	}{
		{name: "at first", steps: []step{{want: 0.01}}},
		{name: "not while holding back helps", steps: []step{{attempts: 300, every: 100 * ms, accepted: 0.9, want: 0.01}}},
		{name: "not by little evidence", steps: []step{{attempts: 85, every: 100 * ms, accepted: 0.75, want: 0.01}}},
		{name: "by enough", steps: []step{{attempts: 180, every: 100 * ms, accepted: 0.75, want: 1}}},
		{name: "what is sent at once counts as one attempt",
			steps: []step{{attempts: 1000, every: ms, accepted: 0.75, want: 0.01}}},
		{name: "soon by much", steps: []step{{attempts: 6, every: 100 * ms, want: 0.01},
			{attempts: 10, every: 100 * ms, want: 0.51}}},
		{name: "not before the overload lasts", steps: []step{{attempts: 100, every: 100 * ms, soon: true, want: 0.01}}},
		{name: "at once when it does", steps: []step{
			{attempts: 100, every: 100 * ms, soon: true, want: 0.01}, {attempts: 10, every: 100 * ms, want: 0.51},
		}},
		{name: "it rises by a half in a second, then more slowly", steps: []step{
			{attempts: 7, every: 100 * ms, want: 0.06}, {attempts: 12, every: 100 * ms, want: 0.62},
			{attempts: 10, every: 100 * ms, want: 0.79},
		}},
		{name: "it falls if fewer are accepted than before, and then takes ten times the evidence", steps: []step{
			{attempts: 103, every: 100 * ms, accepted: 0.75, want: 0.62}, {attempts: 30, every: 100 * ms, accepted: 0.4, want: 0.01},
			{attempts: 300, every: 100 * ms, accepted: 0.75, want: 0.01}, {attempts: 900, every: 100 * ms, accepted: 0.75, want: 1},
		}},
		{name: "once it is 1, only if less than half is", steps: []step{
			{attempts: 180, every: 100 * ms, accepted: 0.75, want: 1}, {attempts: 100, every: 100 * ms, accepted: 0.5, want: 1},
			{attempts: 60, every: 100 * ms, accepted: 0.2, want: 0.01},
		}},
		{name: "after quick evidence, too", steps: []step{
			{attempts: 39, every: 100 * ms, accepted: 0.5, want: 0.62}, {attempts: 30, every: 100 * ms, accepted: 0.3, want: 0.62},
			{attempts: 28, every: 100 * ms, want: 0.01},
		}},
		{name: "if hardly any were accepted, only ten seconds later", steps: []step{
			{attempts: 20, every: 100 * ms, accepted: 0.1, want: 0.62}, {attempts: 84, every: 100 * ms, want: 1},
			{attempts: 4, every: 100 * ms, want: 0.01},
		}},
		{name: "then, if holding back helps, it stays down", steps: []step{
			{attempts: 108, every: 100 * ms, want: 0.01}, {attempts: 100, every: 100 * ms, accepted: 0.9, want: 0.01},
		}},
		{name: "then, if it does not, it rises as soon as at first", steps: []step{
			{attempts: 108, every: 100 * ms, want: 0.01}, {attempts: 12, every: 100 * ms, want: 0.4},
		}},
		{name: "quick evidence does not count once holding back has helped", steps: []step{
			{attempts: 10, every: 100 * ms, accepted: 1, want: 0.01}, {attempts: 8, every: 100 * ms, want: 0.01},
		}},
		{name: "it falls once holding back helps again", steps: []step{
			{attempts: 180, every: 100 * ms, accepted: 0.75, want: 1}, {attempts: 240, every: 100 * ms, accepted: 1,
				want: 0.01},
		}},
		{name: "before it rises, the reserve is given up, and there is new evidence", steps: []step{
			{attempts: 16, every: 100 * ms, inClasses: true, want: 0.01, givenUp: 0.5},
			{attempts: 10, every: 100 * ms, inClasses: true, want: 0.01, givenUp: 1},
			{attempts: 2, every: 100 * ms, inClasses: true, want: 0.01, givenUp: 1},
			{attempts: 10, every: 100 * ms, inClasses: true, want: 0.51, givenUp: 1},
		}},
		{name: "the reserve comes back after evidence that was not quick, too", steps: []step{
			{attempts: 1, every: 100 * ms, accepted: 1, want: 0.01},
			{attempts: 110, every: 100 * ms, accepted: 0.75, inClasses: true, want: 0.01, givenUp: 1},
			{attempts: 60, every: 100 * ms, inClasses: true, accepted: 1, want: 0.01},
		}},
		{name: "the reserve comes back", steps: []step{
			{attempts: 26, every: 100 * ms, inClasses: true, want: 0.01, givenUp: 1},
			{attempts: 26, every: 100 * ms, inClasses: true, accepted: 1, want: 0.01},
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
					floor.learn(rule, sample{accepted: accepted, first: true, usual: 0.1, lasts: !s.soon}, s.every)
					if !s.soon {
						floor.move(rule, s.inClasses, s.every)
					}
				}
				if math.Abs(floor.share-s.want) > 0.06 {
					t.Errorf("step %d: the floor is %v, want %v", i+1, floor.share, s.want)
				}
				if math.Abs(1-floor.reserve-s.givenUp) > 0.06 {
					t.Errorf("step %d: %v of the reserve is given up, want %v", i+1, 1-floor.reserve, s.givenUp)
				}
			}
		})
	}
}

// TestThrottleFloor: of the first attempts at a server that rejects everything, the least floor is sent, and once it is clear that
// holding back does not help, most.
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
	if sent[2] > 50 || sent[29] < 550 {
		t.Errorf("in each second %v of 1000 were sent", sent)
	}
}
