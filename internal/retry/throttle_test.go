package retry

import (
	"math"
	"math/rand"
	"sync"
	"testing"
	"testing/quick"
	"time"
)

func newThrottle() (*Throttle, *manualClock) {
	clock := &manualClock{time: time.Unix(1, 0)}
	return NewThrottle(DefaultThrottling(), clock.now), clock
}

func TestThrottleSteps(t *testing.T) {
	const ms = time.Millisecond
	type step struct {
		after                       time.Duration
		accepted, rejected, refused int
		want                        ThrottleState
	}
	none := ThrottleState{}
	tests := []struct {
		name  string
		steps []step
	}{
		{name: "nothing", steps: []step{{want: none}, {after: time.Hour, want: none}}},
		{name: "nothing is rejected", steps: []step{{accepted: 1000, want: none}, {after: time.Second, accepted: 1, want: none}}},
		{name: "one rejection", steps: []step{{rejected: 1, want: ThrottleState{0.5, 1}}}},
		{
			name:  "what was accepted before is not known",
			steps: []step{{accepted: 1000, want: none}, {rejected: 1, want: ThrottleState{0.5, 1}}},
		},
		// (2 - 1.1*1) / 3
		{name: "half is rejected", steps: []step{{rejected: 1, accepted: 1, want: ThrottleState{0.3, 0.5}}}},
		{name: "less is rejected than the slack", steps: []step{{rejected: 1, accepted: 20, want: ThrottleState{0, 1.0 / 21}}}},
		{name: "all are rejected", steps: []step{{rejected: 999, want: ThrottleState{0.999, 1}}}},
		// (10 - 1.1*1) / 11
		{name: "refusals count", steps: []step{{rejected: 1, accepted: 1, refused: 8, want: ThrottleState{8.9 / 11, 0.9}}}},
		{name: "refusals alone do not", steps: []step{{refused: 100, want: none}}},
		// Weights of e^-0.3: 20*w = 14.816, 10*w = 7.408, and K as it was.
		{name: "K is patient", steps: []step{
			{rejected: 10, accepted: 10, want: ThrottleState{9.0 / 21, 0.5}},
			{after: 300 * ms, want: ThrottleState{(14.816364 - 1.1*7.408182) / 15.816364, 0.5}},
		}},
		// A time Recovery later K is 1.1*e: 20*e^-0.9 - 1.1*e*10*e^-0.9 is negative.
		{name: "K recovers", steps: []step{
			{rejected: 10, accepted: 10, want: ThrottleState{9.0 / 21, 0.5}},
			{after: 900 * ms, want: ThrottleState{0, 0.5}},
		}},
		{name: "nothing accepted is not multiplied", steps: []step{
			{rejected: 9, want: ThrottleState{0.9, 1}},
			{after: time.Second, want: ThrottleState{9 / math.E / (9/math.E + 1), 1}},
		}},
		{name: "a rejection is forgotten", steps: []step{
			{rejected: 1e6, want: ThrottleState{1e6 / (1e6 + 1), 1}},
			{after: 8*time.Second + 1, want: none},
			{rejected: 1, want: ThrottleState{0.5, 1}},
		}},
		{name: "also without a look meanwhile", steps: []step{
			{rejected: 1e6, want: ThrottleState{1e6 / (1e6 + 1), 1}},
			{after: 10000 * time.Hour, rejected: 1, want: ThrottleState{0.5, 1}},
		}},
		{name: "a clock that goes back", steps: []step{
			{rejected: 9, want: ThrottleState{0.9, 1}},
			{after: -time.Hour, want: ThrottleState{0.9, 1}},
			{after: time.Hour, accepted: 1, want: ThrottleState{(10 - 1.1) / 11, 0.9}},
		}},
	}
	for _, tt := range tests {
		tt := tt
		t.Run(tt.name, func(t *testing.T) {
			throttle, clock := newThrottle()
			for i, s := range tt.steps {
				clock.advance(s.after)
				repeat(s.rejected, func() { throttle.Ended(true) })
				repeat(s.accepted, func() { throttle.Ended(false) })
				repeat(s.refused, throttle.Refused)
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
	throttle.Ended(true)
	throttle.Ended(false)
	for _, tt := range []struct {
		draw float64
		want bool
	}{{draw: 0, want: true}, {draw: 0.29, want: true}, {draw: 0.31, want: false}, {draw: 0.99, want: false}} {
		if got := throttle.Refuses(tt.draw); got != tt.want {
			t.Errorf("draw %v: refused is %v, want %v at a probability of 0.3", tt.draw, got, tt.want)
		}
	}
}

func TestThrottlingSpares(t *testing.T) {
	rule := DefaultThrottling()
	for _, tt := range []struct {
		first bool
		draw  float64
		want  bool
	}{
		{first: true, draw: 0, want: false},
		{first: true, draw: 0.74, want: false},
		{first: true, draw: 0.75, want: true},
		{first: true, draw: 0.99, want: true},
		{first: false, draw: 0.99, want: false},
	} {
		if got := rule.Spares(tt.first, tt.draw); got != tt.want {
			t.Errorf("first %v, draw %v: %v, want %v", tt.first, tt.draw, got, tt.want)
		}
	}
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
		switch outcome % 4 {
		case 0:
			throttle.Ended(false)
		case 1, 2:
			throttle.Ended(true)
		default:
			throttle.Refused()
		}
		after()
	}
}

func TestThrottleProperties(t *testing.T) {
	// Whatever has happened,
	// - the probability is below 1, and what is known is a share;
	// - a clock tells when nothing can be refused any more, even if nothing was sent meanwhile: nothing latches.
	holds := func(outcomes []uint8, pauses []uint16) bool {
		throttle, clock := newThrottle()
		ok := true
		throttleHistory{outcomes, pauses}.play(throttle, clock, func() {
			s := throttle.State()
			ok = ok && s.Probability >= 0 && s.Probability < 1 && s.Rejected >= 0 && s.Rejected <= 1
		})
		clock.advance(DefaultThrottling().forgets() + 1)
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
				throttle.Refused()
			} else {
				throttle.Ended(false)
			}
			if throttle.Refuses(0) || throttle.Active() {
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
func attempt(throttle *Throttle, random *rand.Rand, first bool, accepts float64) bool {
	if draw := random.Float64(); throttle.Refuses(draw) && !DefaultThrottling().Spares(first, draw) {
		throttle.Refused()
		return false
	}
	throttle.Ended(random.Float64() >= accepts)
	return true
}

// TestThrottleFloor: of the first attempts at a server that rejects everything, the floor is sent.
func TestThrottleFloor(t *testing.T) {
	const attempts = 30_000
	throttle, clock := newThrottle()
	random := rand.New(rand.NewSource(1))
	sent := 0
	for i := 0; i < attempts; i++ {
		clock.advance(time.Millisecond)
		if attempt(throttle, random, true, 0) {
			sent++
		}
	}
	floor := DefaultThrottling().Floor
	if share := float64(sent) / attempts; share < floor-0.005 || share > floor+0.01 {
		t.Errorf("%.3f of the first attempts were sent, want %v", share, floor)
	}
}

// TestThrottleProbesWithoutFloor: even retries alone reach a server that rejects everything now and then.
func TestThrottleProbesWithoutFloor(t *testing.T) {
	throttle, clock := newThrottle()
	random := rand.New(rand.NewSource(1))
	last := clock.time
	for i := 0; i < 30_000; i++ {
		clock.advance(time.Millisecond)
		if attempt(throttle, random, false, 0) {
			last = clock.time
		}
		if clock.time.Sub(last) > 10*time.Second {
			t.Fatalf("nothing was sent for 10 s after %d attempts", i)
		}
	}
}

// TestThrottleRecovers: after any overload, a server that accepts everything again gets everything within a bound of time.
func TestThrottleRecovers(t *testing.T) {
	const bound = 2 * time.Second
	for _, perSecond := range []int{1, 10, 100, 1000} {
		for _, accepts := range []float64{0, 0.01, 0.5, 0.9} {
			throttle, clock := newThrottle()
			random := rand.New(rand.NewSource(1))
			pause := time.Second / time.Duration(perSecond)
			for i := 0; i < 20*perSecond && i < 20_000; i++ {
				clock.advance(pause)
				attempt(throttle, random, true, accepts)
			}
			over := clock.time
			for clock.time.Sub(over) < bound {
				clock.advance(pause)
				attempt(throttle, random, true, 1)
			}
			if p := throttle.State().Probability; p > 0.01 && perSecond > 1 {
				t.Errorf("%d a second, of which %v were accepted: after %v the probability is %.3f", perSecond, accepts, bound, p)
			}
		}
	}
}

// TestThrottleKeepsWhatIsAccepted: of what exceeds a limit little more than the slack is sent.
func TestThrottleKeepsWhatIsAccepted(t *testing.T) {
	const perSecond, seconds = 1000, 60
	rule := DefaultThrottling()
	rule.Floor = 0
	clock := &manualClock{time: time.Unix(1, 0)}
	throttle := NewThrottle(rule, clock.now)
	random := rand.New(rand.NewSource(1))
	// The server accepts every second command of the load, evenly: tokens come at half the rate.
	var tokens, sent, accepted float64
	for i := 0; i < perSecond*seconds; i++ {
		clock.advance(time.Second / perSecond)
		tokens = math.Min(tokens+0.5, 10)
		if throttle.Refuses(random.Float64()) {
			throttle.Refused()
			continue
		}
		sent++
		if tokens >= 1 {
			tokens--
			accepted++
			throttle.Ended(false)
		} else {
			throttle.Ended(true)
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
		if throttles[client].Refuses(draw) && !DefaultThrottling().Spares(true, draw) {
			throttles[client].Refused()
			continue
		}
		admitted := tokens >= 1
		throttles[client].Ended(!admitted)
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
	if jain := sum * sum / squares / clients; jain < 0.9 {
		t.Errorf("Jain's index is %.3f, want 0.9: %v", jain, got)
	}
}

func TestThrottleReadsNoClockWithoutRejections(t *testing.T) {
	readings := 0
	now := time.Unix(1, 0)
	throttle := NewThrottle(DefaultThrottling(), func() time.Time { readings++; return now })
	throttle.Ended(false)
	throttle.Refused()
	throttle.Refuses(0)
	throttle.State()
	if readings != 0 {
		t.Errorf("the clock was read %d times", readings)
	}
	throttle.Ended(true)
	if readings == 0 {
		t.Error("the clock was not read at a rejection")
	}
}

func TestThrottleNil(t *testing.T) {
	var throttle *Throttle
	throttle.Ended(true)
	throttle.Refused()
	if throttle.Refuses(0) || throttle.Active() || throttle.State() != (ThrottleState{}) {
		t.Error("a nil throttle refuses")
	}
}

func TestThrottleAllocatesNothing(t *testing.T) {
	for _, rejects := range []bool{false, true} {
		throttle := NewThrottle(DefaultThrottling(), time.Now)
		throttle.Ended(rejects)
		if n := testing.AllocsPerRun(100, func() {
			throttle.Refuses(0.5)
			throttle.Refused()
			throttle.Ended(rejects)
		}); n != 0 {
			t.Errorf("rejections %v: %v allocations, want none", rejects, n)
		}
	}
}

func TestThrottleConcurrent(t *testing.T) {
	const goroutines, each = 8, 200
	throttle, _ := newThrottle()
	throttle.Ended(true)
	var wg sync.WaitGroup
	for i := 0; i < goroutines; i++ {
		wg.Add(1)
		go func(i int) {
			defer wg.Done()
			for j := 0; j < each; j++ {
				throttle.Refuses(0.5)
				throttle.Ended((i+j)%2 == 0)
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

func BenchmarkThrottle(b *testing.B) {
	bench := func(name string, throttle *Throttle) {
		command := func() {
			if !throttle.Refuses(0.999) {
				throttle.Ended(false)
			}
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; i < b.N; i++ {
				command()
			}
		})
		b.Run(name+"/parallel", func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					command()
				}
			})
		})
	}
	bench("Off", nil)
	bench("AllIsWell", NewThrottle(DefaultThrottling(), time.Now))
	still := time.Now()
	rejected := NewThrottle(DefaultThrottling(), func() time.Time { return still })
	rejected.Ended(true)
	bench("AfterARejection", rejected)
}
