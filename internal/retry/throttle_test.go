package retry

import (
	"math"
	"math/rand"
	"sync"
	"testing"
	"testing/quick"
	"time"
)

// newThrottle returns the throttle of a client that is known to send much.
func newThrottle() (*Throttle, *manualClock) {
	clock := &manualClock{time: time.Unix(1, 0)}
	throttle := NewThrottle(DefaultThrottling(), clock.now)
	throttle.pace = pace{}
	return throttle, clock
}

// throttleStep is what happens at a server after some time, and what its throttle then knows.
type throttleStep struct {
	after                       time.Duration
	accepted, rejected, refused int
	want                        ThrottleState
}

func TestThrottleSteps(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	none := ThrottleState{}
	tests := []struct {
		name  string
		steps []throttleStep
	}{
		{name: "nothing", steps: []throttleStep{{want: none}, {after: time.Hour, want: none}}},
		{name: "nothing is rejected", steps: []throttleStep{{accepted: 1000, want: none}, {after: s, accepted: 1, want: none}}},
		{name: "one rejection", steps: []throttleStep{{rejected: 1, want: ThrottleState{0.5, 1, 0}}}},
		{name: "what was accepted before is not known",
			steps: []throttleStep{{accepted: 1000, want: none}, {rejected: 1, want: ThrottleState{0.5, 1, 0}}}},
		// (2 - 1.1*1) / 3
		{name: "half is rejected", steps: []throttleStep{{rejected: 1, accepted: 1, want: ThrottleState{0.3, 0.5, 0}}}},
		{name: "less is rejected than the slack",
			steps: []throttleStep{{rejected: 1, accepted: 20, want: ThrottleState{0, 1.0 / 21, 0}}}},
		{name: "all are rejected", steps: []throttleStep{{rejected: 999, want: ThrottleState{0.999, 1, 0}}}},
		// (10 - 1.1*1) / 11
		{name: "refusals count", steps: []throttleStep{
			{rejected: 1, accepted: 1, refused: 8, want: ThrottleState{8.9 / 11, 0.9, 0}},
		}},
		{name: "refusals alone do not", steps: []throttleStep{{refused: 100, want: none}}},
		// Weights of e^-0.1: 20*w = 18.096748, 10*w = 9.048374, and K as it was.
		{name: "K is patient", steps: []throttleStep{
			{rejected: 10, accepted: 10, want: ThrottleState{9.0 / 21, 0.5, 0}},
			{after: 300 * ms, want: ThrottleState{(18.096748 - 1.1*9.048374) / 19.096748, 0.5, 0}},
		}},
		// 600 ms later K is 1.1*e: 20*w - 1.1*e*10*w is negative.
		{name: "K recovers", steps: []throttleStep{
			{rejected: 10, accepted: 10, want: ThrottleState{9.0 / 21, 0.5, 0}},
			{after: 900 * ms, want: ThrottleState{0, 0.5, 0}},
		}},
		// A gap of 10 s, weighed by 1/20, makes six of them 3 s, longer than the longest patience, 1 s. After that K is as it was,
		// and after 2 s more it is 1.1*e. The weight of the first attempt is then e^(-10/3) = 0.035674.
		{name: "K is more patient with a client that sends little", steps: []throttleStep{
			{rejected: 1, want: ThrottleState{0.5, 1, 0}},
			{after: 10 * s, rejected: 1, accepted: 1, want: ThrottleState{(2.035674 - 1.1) / 3.035674, 1 - 1/2.035674, 0}},
			{after: s, want: ThrottleState{(2.035674 - 1.1) * 0.716531 / (2.035674*0.716531 + 1), 1 - 1/2.035674, 0}},
			{after: 2 * s, want: ThrottleState{0, 1 - 1/2.035674, 0}},
		}},
		{name: "nothing accepted is not multiplied", steps: []throttleStep{
			{rejected: 9, want: ThrottleState{0.9, 1, 0}},
			{after: 3 * s, want: ThrottleState{9 / math.E / (9/math.E + 1), 1, 0}},
		}},
		{name: "a rejection is forgotten", steps: []throttleStep{
			{rejected: 1e4, want: ThrottleState{1e4 / (1e4 + 1), 1, 0}},
			{after: 24 * s, want: ThrottleState{3.354626 / 4.354626, 1, 0}}, // 1e4 * e^-8
			{after: 1, want: none},
			{rejected: 1, want: ThrottleState{0.5, 1, 0}},
		}},
		{name: "also without a look meanwhile", steps: []throttleStep{
			{rejected: 1e4, want: ThrottleState{1e4 / (1e4 + 1), 1, 0}},
			{after: 10000 * time.Hour, rejected: 1, want: ThrottleState{0.5, 1, 0}},
		}},
		{name: "a clock that goes back", steps: []throttleStep{
			{rejected: 9, want: ThrottleState{0.9, 1, 0}},
			{after: -time.Hour, want: ThrottleState{0.9, 1, 0}},
			{after: time.Hour, accepted: 1, want: ThrottleState{(10 - 1.1) / 11, 0.9, 0}},
		}},
	}
	for _, tt := range tests {
		tt := tt
		t.Run(tt.name, func(t *testing.T) {
			throttle, clock := newThrottle()
			for i, s := range tt.steps {
				clock.advance(s.after)
				repeat(s.rejected, func() { throttle.Ended(Attempt{}, true) })
				repeat(s.accepted, func() { throttle.Ended(Attempt{}, false) })
				repeat(s.refused, func() { throttle.HeldBack(Attempt{}) })
				got := throttle.State()
				if math.Abs(got.Probability-s.want.Probability) > 1e-6 || math.Abs(got.Rejected-s.want.Rejected) > 1e-6 {
					t.Fatalf("step %d: %+v, want %+v", i+1, got, s.want)
				}
			}
		})
	}
}

func repeat(n int, f func()) {
	for i := 0; i < n; i++ {
		f()
	}
}

func TestThrottleRefuses(t *testing.T) {
	throttle, _ := newThrottle()
	throttle.Ended(Attempt{}, true)
	throttle.Ended(Attempt{}, false)
	exhaustTrials(throttle)
	for _, tt := range []struct {
		draw float64
		want bool
	}{{draw: 0, want: true}, {draw: 0.29, want: true}, {draw: 0.31, want: false}, {draw: 0.99, want: false}} {
		if got := throttle.HoldsBack(Attempt{}, tt.draw); got != tt.want {
			t.Errorf("draw %v: refused is %v, want %v at a probability of 0.3", tt.draw, got, tt.want)
		}
	}
}

// exhaustTrials uses up the trials of the command without a name.
func exhaustTrials(throttle *Throttle) {
	repeat(4, func() { throttle.HoldsBack(Attempt{}, 0) })
}

// history is what happens at a server, at random.
type throttleHistory struct {
	outcomes []uint8
	pauses   []uint16
}

// play lets a history happen, and calls the function after each step.
func (h throttleHistory) play(throttle *Throttle, clock *manualClock, after func()) {
	for i, outcome := range h.outcomes {
		if i < len(h.pauses) {
			clock.advance(time.Duration(h.pauses[i]) * 10 * time.Microsecond)
		}
		a := Attempt{Criticality: Criticality(outcome/4%3) - 1, Command: Command{Name: string(rune('a' + outcome/12%4))}}
		switch outcome % 4 {
		case 0:
			throttle.Ended(a, false)
		case 1, 2:
			throttle.Ended(a, true)
		default:
			throttle.HeldBack(a)
		}
		after()
	}
}

func TestThrottleProperties(t *testing.T) {
	// Whatever has happened,
	// - the probability is below 1, and what is known is a share;
	// - what is more critical is refused less, and spared more;
	// - a clock tells when nothing can be refused any more, even if nothing was sent meanwhile: nothing latches.
	holds := func(outcomes []uint8, pauses []uint16) bool {
		throttle, clock := newThrottle()
		ok := true
		throttleHistory{outcomes, pauses}.play(throttle, clock, func() {
			s := throttle.State()
			ok = ok && s.Probability >= 0 && s.Probability < 1 && s.Rejected >= 0 && s.Rejected <= 1
			for c := Sheddable; c < Critical; c++ {
				lower, higher := Attempt{Criticality: c}, Attempt{Criticality: c + 1}
				ok = ok && throttle.probability(clock.time, lower) >= throttle.probability(clock.time, higher)
				ok = ok && throttle.spared(c) <= throttle.spared(c+1)
			}
		})
		clock.advance(24*time.Second + 1)
		return ok && throttle.State() == ThrottleState{} && !throttle.Active()
	}
	if err := quick.Check(holds, &quick.Config{MaxCount: 2000, Rand: rand.New(rand.NewSource(1))}); err != nil {
		t.Error(err)
	}
}

func TestThrottleNeverRefusesWithoutRejections(t *testing.T) {
	holds := func(outcomes []bool) bool {
		throttle, clock := newThrottle()
		for _, refused := range outcomes {
			clock.advance(time.Millisecond)
			if refused {
				throttle.HeldBack(Attempt{})
			} else {
				throttle.Ended(Attempt{}, false)
			}
			if throttle.HoldsBack(Attempt{}, 0) || throttle.Active() {
				return false
			}
		}
		return true
	}
	if err := quick.Check(holds, &quick.Config{Rand: rand.New(rand.NewSource(1))}); err != nil {
		t.Error(err)
	}
}

// attempt lets a client attempt a command at a server that accepts it with some probability, and reports whether it was sent.
func attempt(throttle *Throttle, random *rand.Rand, a Attempt, accepts float64) bool {
	if draw := random.Float64(); throttle.HoldsBack(a, draw) && !throttle.Admits(a, draw) {
		throttle.HeldBack(a)
		return false
	}
	throttle.Ended(a, random.Float64() >= accepts)
	return true
}

// TestThrottleProbesWithoutFloor: even retries alone reach a server that rejects everything now and then.
func TestThrottleProbesWithoutFloor(t *testing.T) {
	throttle, clock := newThrottle()
	random := rand.New(rand.NewSource(1))
	last := clock.time
	for i := 0; i < 30_000; i++ {
		clock.advance(time.Millisecond)
		if attempt(throttle, random, Attempt{}, 0) {
			last = clock.time
		}
		if clock.time.Sub(last) > 10*time.Second {
			t.Fatalf("nothing was sent for 10 s after %d attempts", i)
		}
	}
}

// TestThrottleRecovers: after any overload, a server that accepts everything again gets everything within a bound of time.
func TestThrottleRecovers(t *testing.T) {
	const bound = 6 * time.Second
	for _, perSecond := range []int{1, 10, 100, 1000} {
		for _, accepts := range []float64{0, 0.01, 0.5, 0.9} {
			throttle, clock := newThrottle()
			random := rand.New(rand.NewSource(1))
			pause := time.Second / time.Duration(perSecond)
			for i := 0; i < 20*perSecond && i < 20_000; i++ {
				clock.advance(pause)
				attempt(throttle, random, Attempt{First: true}, accepts)
			}
			over := clock.time
			for clock.time.Sub(over) < bound {
				clock.advance(pause)
				attempt(throttle, random, Attempt{First: true}, 1)
			}
			if p := throttle.State().Probability; p > 0.01 {
				t.Errorf("%d a second, of which %v were accepted: after %v the probability is %.3f", perSecond,
					accepts, bound, p)
			}
		}
	}
}

// TestThrottleKeepsWhatIsAccepted: of what exceeds a limit little more than the slack is sent.
func TestThrottleKeepsWhatIsAccepted(t *testing.T) {
	const perSecond, seconds = 1000, 60
	rule := DefaultThrottling()
	rule.Floor.Least = 0
	clock := &manualClock{time: time.Unix(1, 0)}
	throttle := NewThrottle(rule, clock.now)
	throttle.pace = pace{}
	random := rand.New(rand.NewSource(1))
	// The server accepts every second command of the load, evenly: tokens come at half the rate.
	var tokens, sent, accepted float64
	for i := 0; i < perSecond*seconds; i++ {
		clock.advance(time.Second / perSecond)
		tokens = math.Min(tokens+0.5, 10)
		if throttle.HoldsBack(Attempt{}, random.Float64()) {
			throttle.HeldBack(Attempt{})
			continue
		}
		sent++
		if tokens >= 1 {
			tokens--
			accepted++
			throttle.Ended(Attempt{}, false)
		} else {
			throttle.Ended(Attempt{}, true)
		}
	}
	if ratio := sent / accepted; ratio > 1.2 {
		t.Errorf("sent is %.2f of what was accepted, want at most 1.2", ratio)
	}
	if share := accepted / (perSecond * seconds / 2); share < 0.98 {
		t.Errorf("%.3f of the limit was used, want 0.98", share)
	}
}

// TestThrottleIsFair: clients that share a limit get about the same of it.
func TestThrottleIsFair(t *testing.T) {
	const clients, rounds = 50, 30_000
	clock := &manualClock{time: time.Unix(1, 0)}
	random := rand.New(rand.NewSource(1))
	throttles := make([]*Throttle, clients)
	for i := range throttles {
		throttles[i] = NewThrottle(DefaultThrottling(), clock.now)
	}
	var tokens float64
	got := make([]float64, clients)
	for i := 0; i < rounds; i++ {
		clock.advance(time.Millisecond)
		tokens = math.Min(tokens+0.5, 20)
		client := random.Intn(clients)
		draw := random.Float64()
		first := Attempt{First: true}
		if throttles[client].HoldsBack(first, draw) && !throttles[client].Admits(first, draw) {
			throttles[client].HeldBack(first)
			continue
		}
		admitted := tokens >= 1
		throttles[client].Ended(first, !admitted)
		if admitted {
			tokens--
			got[client]++
		}
	}
	var sum, squares float64
	for _, n := range got {
		sum += n
		squares += n * n
	}
	if jain := sum * sum / squares / clients; jain < 0.8 {
		t.Errorf("Jain's index is %.3f, want 0.8: %v", jain, got)
	}
}

// TestThrottleForgottenMeanwhile: an attempt that ends when everything is being forgotten is none to learn from.
func TestThrottleForgottenMeanwhile(t *testing.T) {
	throttle, clock := newThrottle()
	throttle.Ended(Attempt{}, true)
	clock.advance(24*time.Second + 1)
	throttle.Ended(Attempt{}, false) // it is still active when this begins
	throttle.Ended(Attempt{}, true)
	if got := throttle.known.gap; got != 0 {
		t.Errorf("the gap between attempts is %v, want none", got)
	}
}

func TestThrottleReadsNoClockWithoutRejections(t *testing.T) {
	readings := 0
	now := time.Unix(1, 0)
	throttle := NewThrottle(DefaultThrottling(), func() time.Time { readings++; return now })
	throttle.Ended(Attempt{}, false)
	throttle.HeldBack(Attempt{})
	throttle.HoldsBack(Attempt{}, 0)
	throttle.State()
	if readings != 0 {
		t.Errorf("the clock was read %d times", readings)
	}
	throttle.Ended(Attempt{}, true)
	if readings == 0 {
		t.Error("the clock was not read at a rejection")
	}
}

func TestThrottleNil(t *testing.T) {
	var throttle *Throttle
	throttle.Ended(Attempt{}, true)
	throttle.HeldBack(Attempt{})
	if throttle.HoldsBack(Attempt{}, 0) || throttle.Active() || throttle.State() != (ThrottleState{}) {
		t.Error("a nil throttle refuses")
	}
}

func TestThrottleAllocatesNothing(t *testing.T) {
	for _, rejects := range []bool{false, true} {
		throttle := NewThrottle(DefaultThrottling(), time.Now)
		throttle.Ended(Attempt{}, rejects)
		if n := testing.AllocsPerRun(100, func() {
			throttle.HoldsBack(Attempt{}, 0.5)
			throttle.HeldBack(Attempt{})
			throttle.Ended(Attempt{}, rejects)
		}); n != 0 {
			t.Errorf("rejections %v: %v allocations, want none", rejects, n)
		}
	}
}

func TestThrottleConcurrent(t *testing.T) {
	const goroutines, each = 8, 200
	throttle, _ := newThrottle()
	throttle.Ended(Attempt{}, true)
	var wg sync.WaitGroup
	for i := 0; i < goroutines; i++ {
		wg.Add(1)
		go func(i int) {
			defer wg.Done()
			for j := 0; j < each; j++ {
				throttle.HoldsBack(Attempt{}, 0.5)
				throttle.Ended(Attempt{}, (i+j)%2 == 0)
			}
		}(i)
	}
	wg.Wait()
	const all = goroutines*each + 1
	want := 1 - float64(goroutines*each/2)/all
	if got := throttle.State().Rejected; math.Abs(got-want) > 1e-9 {
		t.Errorf("the share is %v, want %v", got, want)
	}
}
