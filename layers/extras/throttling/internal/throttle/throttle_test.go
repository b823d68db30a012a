package throttle

import (
	"math"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
)

const ms = time.Millisecond

const (
	sheddableClass int8 = iota - 1
	normalClass
	criticalClass
)

// subject is a throttle with a clock and a draw that are set.
type subject struct {
	*Throttle
	at   time.Time
	draw float64
}

func newSubject(scope Scope) *subject {
	s := &subject{at: time.Unix(1, 0)}
	s.Throttle = New(func() time.Time { return s.at }, func() float64 { return s.draw }, scope)
	return s
}

var (
	first     = Attempt{First: true, Left: math.MaxInt64}
	again     = Attempt{Left: math.MaxInt64}
	continued = Attempt{Continues: true, Left: math.MaxInt64}
)

func of(class int8, a Attempt) Attempt {
	a.Class = class
	return a
}

// ended records that many attempts that were sent now, and rejected or accepted.
func (s *subject) ended(a Attempt, rejected, accepted int) {
	s.known[a.side()].sent = s.at
	for i := 0; i < rejected; i++ {
		s.Ended(a, true, 0)
	}
	for i := 0; i < accepted; i++ {
		s.Ended(a, false, 0)
	}
}

// TestState is the formula, (1.25 * accepted / sent) ^ 4.5, as clients tell it. TestPage has it as it decides.
func TestState(t *testing.T) {
	for _, tt := range []struct {
		rejected, accepted int
		want               float64
	}{
		{rejected: 20, accepted: 80, want: 1},
		{rejected: 30, accepted: 70, want: 0.548},
		{rejected: 50, accepted: 50, want: 0.121},
		{rejected: 100, want: 0},
	} {
		s := newSubject(All)
		s.ended(first, tt.rejected, tt.accepted)
		withheld, accepted := s.State(false)
		assert.InDelta(t, 1-tt.want, withheld, 0.001, "%+v", tt)
		assert.InDelta(t, float64(tt.accepted)/100, accepted, 1e-9, "%+v", tt)
		assert.Less(t, withheld, 1.0, "%+v", tt)
	}
}

// TestWithoutTheOption: first attempts are always sent, and retries in the first second of an overload and of who knows little and has a
// token. What is withheld is not retried.
func TestWithoutTheOption(t *testing.T) {
	for _, step := range []struct {
		name     string
		firsts   int
		age      time.Duration
		accepted int // in a row, after it
		pause    time.Duration
		retry    Attempt
		tokens   float64
		want     Decision
	}{
		{name: "a command alone", firsts: 1, retry: again, tokens: 1, want: Send},
		{name: "its last retry", firsts: 1, age: 3 * time.Second, retry: again, tokens: 1, want: Send},
		{name: "without a token", firsts: 1, retry: again, want: GiveUp},
		{name: "critical, without a token", firsts: 1, retry: of(criticalClass, again), want: Send},
		{name: "a burst", firsts: 50, age: time.Second, retry: again, want: Send},
		{name: "longer", firsts: 50, age: time.Second + 1, retry: again, want: GiveUp},
		{name: "longer, a cursor", firsts: 50, age: time.Second + 1, retry: continued, tokens: 1, want: Send},
		{name: "longer, a cursor without a token", firsts: 50, age: time.Second + 1, retry: continued, want: GiveUp},
		{name: "too late", firsts: 50, age: time.Second + 1, retry: Attempt{Left: 9 * ms}, accepted: 1, want: TooLate},
		{name: "calm, but too few accepted", firsts: 50, age: 2 * time.Second, accepted: 2, pause: 1001 * ms, retry: again, want: GiveUp},
		{name: "accepted, but too early", firsts: 50, age: 2 * time.Second, accepted: 3, pause: 1000 * ms, retry: again, want: GiveUp},
		{name: "another", firsts: 50, age: 2 * time.Second, accepted: 3, pause: 1001 * ms, retry: again, want: Send},
	} {
		s := newSubject(Retries)
		s.ended(first, step.firsts, 0)
		s.at = s.at.Add(step.age)
		s.ended(again, 1, 0)
		for i := 0; i < step.accepted; i++ {
			s.Ended(first, false, 10*ms)
		}
		k := &s.known[0]
		k.tokens, k.kept = step.tokens, step.tokens
		s.at = s.at.Add(step.pause)
		if step.pause > 0 {
			k.sent = s.at // something was sent, so that it is not sent for that reason
			s.Ended(first, true, 0)
		}
		assert.Equal(t, step.want, s.Decide(step.retry), step.name)
		assert.Equal(t, Send, s.Decide(first), "%s: a first attempt", step.name)
	}
}

// TestBursts: after three seconds of pressure, what is withheld again fails, with the probability of being withheld. After a second
// without any, in which three are accepted, another overload begins.
func TestBursts(t *testing.T) {
	s := newSubject(All)
	press := func(seconds float64) {
		for i := 0.0; i < seconds*10; i++ {
			s.at = s.at.Add(100 * ms)
			s.ended(first, 5, 5)
		}
	}
	const p = 1 - 0.121
	press(3)
	s.draw = 0
	assert.Equal(t, Withhold, s.Decide(again), "not yet three seconds")
	press(0.2)
	for draw, want := range map[float64]Decision{0: GiveUp, p*p - 0.01: GiveUp, p*p + 0.01: Withhold, p - 0.01: Withhold, p + 0.01: Send} {
		s.draw = draw
		assert.Equal(t, want, s.Decide(again), "it lasts, and %v is drawn", draw)
	}
	s.draw = 0
	assert.Equal(t, Withhold, s.Decide(first), "it lasts: retries fail, first attempts wait")
	for i := 0; i < 30; i++ { // until there is no token left
		if d := s.Decide(continued); d == GiveUp || i == 29 && d != Withhold {
			t.Errorf("a retry of what continues waits: it is decided %v", d)
		}
	}
	for i, want := range []Decision{GiveUp, Withhold} {
		s.ended(first, 0, 2+i)
		s.at = s.at.Add(time.Second + 1)
		s.ended(first, 1, 0)
		assert.Equal(t, want, s.Decide(again), "after a second in which %d are accepted", 2+i)
	}
}

// TestNothingRejected: without a rejection nothing is counted, no clock is read, and nothing is withheld. A nil throttle knows nothing.
func TestNothingRejected(t *testing.T) {
	fail := func() float64 { t.Error("a number was drawn"); return 0 }
	quiet := New(func() time.Time { t.Error("the clock was read"); return time.Time{} }, fail, All)
	for _, throttle := range []*Throttle{quiet, nil} {
		for i := 0; i < 10; i++ {
			throttle.Ended(first, false, time.Second)
			assert.Equal(t, Send, throttle.Decide(first))
		}
		knowsNothing(t, throttle)
	}
	var none *Throttle
	none.Refused()
}

// TestConcurrent is for the race detector.
func TestConcurrent(*testing.T) {
	now := time.Now()
	throttle := New(func() time.Time { return now }, func() float64 { return 0.5 }, All)
	var running sync.WaitGroup
	for i := 0; i < 8; i++ {
		running.Add(1)
		go func() {
			defer running.Done()
			for n := 0; n < 100; n++ {
				if throttle.Decide(first) == Send {
					throttle.Ended(first, n%2 == 0, time.Millisecond)
				}
				throttle.State(false)
			}
		}()
	}
	running.Wait()
}

// TestForgottenRejections: what was rejected is forgotten some time after the last rejection, by whoever asks.
func TestForgottenRejections(t *testing.T) {
	s := newSubject(All)
	s.Refused()
	s.at = s.at.Add(time.Hour)
	knowsNothing(t, s.Throttle)
}

func knowsNothing(t *testing.T, throttle *Throttle) {
	t.Helper()
	withheld, accepted := throttle.State(false)
	assert.Equal(t, []float64{0, 1}, []float64{withheld, accepted})
}
