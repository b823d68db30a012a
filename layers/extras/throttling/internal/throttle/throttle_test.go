package throttle

import (
	"math"
	"sync"
	"testing"
	"time"
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

func newSubject() *subject { return newSubjectOf(All) }

func newSubjectOf(scope Scope) *subject {
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

// share returns which share of attempts is sent, to a thousandth. What is counted meanwhile is taken back.
func (s *subject) share(a Attempt) float64 {
	sent := 0
	for i := 0; i < 1000; i++ {
		s.draw = (float64(i) + 0.5) / 1000
		copied := s.known[a.side()].copied()
		if copied.decide(a, s.at, s.draw) == Send {
			sent++
		}
	}
	return float64(sent) / 1000
}

func (k *knowledge) copied() *knowledge {
	return &knowledge{
		at: k.at, all: k.all, firsts: k.firsts, begun: k.begun, wanted: k.wanted, tokens: k.tokens, kept: k.kept, took: k.took,
		sent: k.sent, rejected: k.rejected, pressed: k.pressed, calm: k.calm, began: k.began,
	}
}

func (s *subject) expect(t *testing.T, a Attempt, want float64, when string) {
	t.Helper()
	if got := s.share(a); math.Abs(got-want) > 0.002 {
		t.Errorf("%s: the share %.3f is sent, want %.3f", when, got, want)
	}
}

// TestShare is the formula: (1.25 * accepted / sent) ^ 4.5.
func TestShare(t *testing.T) {
	for _, tt := range []struct {
		rejected, accepted int
		want               float64
	}{
		{rejected: 20, accepted: 80, want: 1},
		{rejected: 30, accepted: 70, want: 0.548},
		{rejected: 50, accepted: 50, want: 0.121},
		{rejected: 90, accepted: 10, want: 0},
		{rejected: 100, want: 0},
	} {
		s := newSubject()
		s.ended(first, tt.rejected, tt.accepted)
		s.expect(t, first, tt.want, "first attempts")
		s.expect(t, again, tt.want, "retries")
		withheld, accepted := s.State(false)
		if math.Abs(1-withheld-tt.want) > 0.001 || math.Abs(accepted-float64(tt.accepted)/100) > 1e-9 || withheld >= 1 {
			t.Errorf("%+v: the state is %v, %v", tt, withheld, accepted)
		}
	}
}

// TestWithheldSaysNothing: what is withheld tells nothing of the server.
func TestWithheldSaysNothing(t *testing.T) {
	s := newSubject()
	s.ended(first, 30, 70)
	s.draw = 0
	for i := 0; i < 100; i++ {
		if s.Decide(first) != Withhold {
			t.Fatal("it was sent")
		}
	}
	s.expect(t, first, 0.548, "after that")
	if _, accepted := s.State(false); math.Abs(accepted-0.7) > 1e-9 {
		t.Errorf("the share %v of what was sent was accepted, want 0.7", accepted)
	}
}

// TestFirstsByFirsts: of a few commands that are always rejected only the retries are too many.
func TestFirstsByFirsts(t *testing.T) {
	s := newSubject()
	s.ended(first, 15, 85)
	s.ended(again, 25, 0)
	s.expect(t, first, 1, "first attempts")
	s.expect(t, again, math.Pow(1.25*85/125, 4.5), "retries")
}

// TestReadsAndWrites are judged apart.
func TestReadsAndWrites(t *testing.T) {
	s := newSubject()
	write := first
	write.Write = true
	s.ended(write, 100, 0)
	if s.draw = 0; s.Decide(first) != Send || s.Decide(write) != Withhold {
		t.Error("reads are withheld, or writes are not")
	}
}

// TestMemory: weights fall to 1/e in ten seconds, so that what is newer counts more, and as long after the last rejection all is forgotten.
func TestMemory(t *testing.T) {
	s := newSubject()
	s.ended(first, 100, 0)
	s.at = s.at.Add(10 * time.Second)
	s.ended(first, 0, 100)
	s.Ended(first, true, 0)
	s.expect(t, first, math.Pow(1.25*100/(101+100/math.E), 4.5), "after ten seconds")
	s.at = s.at.Add(10*time.Second + 1)
	s.known[0].tokens = 0
	if s.draw = 0; s.Decide(again) != Send || s.active[0].Load() {
		t.Error("it is not forgotten")
	}
}

// TestGrowth: K is constant for half a second after a rejection, and then grows by e in a second.
func TestGrowth(t *testing.T) {
	for after, grown := range map[time.Duration]float64{0: 1, 500 * ms: 1, 700 * ms: math.Exp(0.2), 900 * ms: math.Exp(0.4), 2 * time.Second: 9} {
		s := newSubject()
		s.ended(first, 50, 50)
		s.at = s.at.Add(after)
		s.known[0].sent = s.at // something was sent
		s.expect(t, first, math.Min(1, math.Pow(0.625*grown, 4.5)), after.String())
	}
}

// TestFewKnown: who knows little sends all first attempts and what is critical, and pays for other retries with what was accepted.
func TestFewKnown(t *testing.T) {
	s := newSubject()
	s.ended(first, 5, 0)
	s.expect(t, first, 1, "five first attempts are known")
	s.expect(t, again, 0, "there is no token")
	s.expect(t, of(criticalClass, again), 1, "a critical retry")
	s.known[0].tokens = 1
	if s.draw = 0; s.Decide(again) != Send || s.Decide(again) != Withhold {
		t.Error("one token pays for one retry")
	}
	s.ended(first, 1, 0)
	s.expect(t, first, 0, "six are known")
}

// TestTokens: an accepted attempt earns a tenth, a retry its own as well, up to ten. Those of what continues something are ten at
// first, without the option the others, too, and again after a minute without a rejection.
func TestTokens(t *testing.T) {
	for scope, full := range map[Scope]float64{All: 0, Retries: mostTokens} {
		s := newSubjectOf(scope)
		s.ended(first, 1, 0)
		k := &s.known[0]
		if k.tokens != full || k.kept != mostTokens {
			t.Errorf("at first there are %v and %v tokens", k.tokens, k.kept)
		}
		k.tokens = 0
		s.ended(first, 0, 3)
		s.ended(again, 0, 1)
		if math.Abs(k.tokens-1.4) > 1e-9 || k.kept != mostTokens {
			t.Errorf("there are %v and %v tokens, want 1.4 and 10", k.tokens, k.kept)
		}
		s.ended(again, 0, 20)
		if k.tokens != mostTokens {
			t.Errorf("there are %v tokens, want 10", k.tokens)
		}
		for pause, want := range map[time.Duration]float64{time.Minute: 0, time.Minute + 1: full} {
			k.tokens, k.kept = 0, 0
			s.at = s.at.Add(pause)
			s.ended(first, 1, 0)
			if k.tokens != want || (k.kept == mostTokens) != (pause > time.Minute) {
				t.Errorf("after %v there are %v and %v tokens", pause, k.tokens, k.kept)
			}
		}
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
		s := newSubjectOf(Retries)
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
		if got := s.Decide(step.retry); got != step.want {
			t.Errorf("%s: it is decided %v, want %v", step.name, got, step.want)
		}
		if s.Decide(first) != Send {
			t.Errorf("%s: a first attempt is withheld", step.name)
		}
	}
}

// TestContinued: what the server holds a cursor for is never withheld, does not count, and has tokens for its retries.
func TestContinued(t *testing.T) {
	s := newSubject()
	s.ended(first, 100, 0)
	before := s.known[0].wanted
	started := continued
	started.First = true
	for i := 0; i < mostTokens; i++ {
		if s.Decide(started) != Send || s.Decide(continued) != Send {
			t.Fatal("it is withheld")
		}
		s.Ended(continued, true, 0)
	}
	s.at = s.at.Add(4 * time.Second)
	if d := s.Decide(continued); d != Withhold {
		t.Errorf("without a token it is decided %v", d)
	}
	s.Ended(continued, false, time.Hour)
	if s.Decide(continued) != Send {
		t.Error("a retry that was accepted does not return its token")
	}
	if s.known[0].took != 0 || s.known[0].wanted[1] > before[1] {
		t.Error("it counts")
	}
}

// TestRouted: to a router first attempts are sent, and retries unless something would be withheld.
func TestRouted(t *testing.T) {
	routed, retried := first, again
	routed.Routed, retried.Routed = true, true
	s := newSubject()
	s.ended(routed, 20, 80)
	s.expect(t, retried, 1, "a fifth is rejected")
	s.ended(routed, 5, 0)
	s.expect(t, routed, 1, "more than a fifth")
	s.expect(t, retried, 0, "more than a fifth")
}

// TestRareRoutedAreRetried: what is rare and critical would not be withheld from a server, so from a router its retries are only delayed,
// however long the overload lasts.
func TestRareRoutedAreRetried(t *testing.T) {
	critical := of(1, again)
	critical.Routed = true
	s := newSubject()
	for i := 0; i < 40; i++ {
		s.at = s.at.Add(100 * ms)
		s.ended(of(0, first), 1, 1)
	}
	s.ended(of(1, first), 1, 1)
	s.draw = 0
	if got := s.Decide(critical); got != Withhold {
		t.Errorf("a critical retry is decided %v after an overload of four seconds", got)
	}
}

// TestAloneBehindARouter: without the option, two commands alone have all their retries, also behind a router or a load balancer.
func TestAloneBehindARouter(t *testing.T) {
	routed := again
	routed.Routed = true
	s := newSubjectOf(Retries)
	for command := 0; command < 2; command++ {
		s.ended(first, 1, 0)
		for retry := 0; retry < 5; retry++ {
			s.at = s.at.Add(time.Second)
			if got := s.Decide(routed); got != Send {
				t.Fatalf("retry %d of command %d is decided %v", retry, command, got)
			}
			s.Ended(routed, true, 0)
		}
	}
	if got := s.Decide(routed); got != GiveUp {
		t.Errorf("without a token it is decided %v", got)
	}
}

// TestSomethingIsSent: if nothing was sent for a second, an attempt is.
func TestSomethingIsSent(t *testing.T) {
	s := newSubject()
	s.ended(first, 100, 0)
	s.draw = 0
	s.at = s.at.Add(time.Second - 1)
	if s.Decide(first) != Withhold {
		t.Error("before a second")
	}
	s.at = s.at.Add(1)
	if s.Decide(first) != Send || s.Decide(first) != Withhold {
		t.Error("after a second one is sent")
	}
}

// TestLateRetries: a retry is of no use if less time is left than a reply takes, by a mean with weights of an eighth.
func TestLateRetries(t *testing.T) {
	s := newSubject()
	s.ended(first, 1, 0)
	s.Ended(first, false, 80*ms)
	s.Ended(first, false, 160*ms)
	s.known[0].tokens = 9
	for left, want := range map[time.Duration]Decision{90*ms - 1: TooLate, 90 * ms: Send} {
		if got := s.Decide(Attempt{Left: left}); got != want {
			t.Errorf("with %v left it is decided %v, want %v", left, got, want)
		}
	}
	if s.Decide(Attempt{First: true, Left: 1}) != Send {
		t.Error("a first attempt may be lucky")
	}
}

// TestBursts: after three seconds of pressure, what is withheld again fails, with the probability of being withheld. After a second
// without any, in which three are accepted, another overload begins.
func TestBursts(t *testing.T) {
	s := newSubject()
	press := func(seconds float64) {
		for i := 0.0; i < seconds*10; i++ {
			s.at = s.at.Add(100 * ms)
			s.ended(first, 5, 5)
		}
	}
	const p = 1 - 0.121
	press(3)
	if s.draw = 0; s.Decide(again) != Withhold {
		t.Error("not yet three seconds")
	}
	press(0.2)
	for draw, want := range map[float64]Decision{0: GiveUp, p*p - 0.01: GiveUp, p*p + 0.01: Withhold, p - 0.01: Withhold, p + 0.01: Send} {
		if s.draw = draw; s.Decide(again) != want {
			t.Errorf("it lasts, and %v is drawn: want %v", draw, want)
		}
	}
	if s.draw = 0; s.Decide(first) != Withhold {
		t.Error("it lasts: retries fail, first attempts wait")
	}
	for i := 0; i < 30; i++ { // until there is no token left
		if d := s.Decide(continued); d == GiveUp || i == 29 && d != Withhold {
			t.Errorf("a retry of what continues waits: it is decided %v", d)
		}
	}
	for i, want := range []Decision{GiveUp, Withhold} {
		s.ended(first, 0, 2+i)
		s.at = s.at.Add(time.Second + 1)
		s.ended(first, 1, 0)
		if d := s.Decide(again); d != want {
			t.Errorf("after a second in which %d are accepted it is decided %v", 2+i, d)
		}
	}
}

// TestClasses: less critical ones are withheld first, and so much the less follows from a rejection.
func TestClasses(t *testing.T) {
	for _, tt := range []struct {
		name                        string
		sheddable, normal, critical int // of which 7 of 10 are accepted: 54.8 of 100 of one class may be sent
		shed, norm, crit            float64
	}{
		{name: "one class", normal: 100, norm: 0.548},
		{name: "one class, all critical", critical: 100, crit: 0.548},
		{name: "few critical", sheddable: 70, critical: 30, shed: 24.8 / 70, crit: 1},
		{name: "many critical", sheddable: 20, critical: 80, shed: 0, crit: (100*math.Pow(0.875, 4.5*0.8) - 0) / 80},
		{name: "nearly all critical", sheddable: 0, normal: 10, critical: 190, norm: 0, crit: 200 * math.Pow(0.875, 4.5*0.95) / 190},
		{name: "three", sheddable: 40, normal: 40, critical: 20, shed: 0, norm: 1, crit: 1},
		{name: "three, of which two are too many", sheddable: 10, normal: 60, critical: 30, shed: 0, norm: (100*math.Pow(0.875, 4.5*0.9) - 30) / 60,
			crit: 1},
	} {
		s := newSubject()
		for class, n := range map[int8]int{sheddableClass: tt.sheddable, normalClass: tt.normal, criticalClass: tt.critical} {
			s.ended(of(class, first), n*3/10, n*7/10)
		}
		for class, want := range map[int8]float64{
			sheddableClass: tt.shed, normalClass: tt.norm, criticalClass: tt.crit,
		} {
			if s.known[0].wanted[class+1] == 0 {
				continue
			}
			s.expect(t, of(class, first), math.Max(0, math.Min(1, want)), tt.name)
		}
	}
}

// TestNewClass: the first attempt of a class is sent if nothing is too much, whatever the others have.
func TestNewClass(t *testing.T) {
	s := newSubject()
	s.ended(first, 1, 20)
	for _, class := range []int8{sheddableClass, normalClass, criticalClass} {
		s.expect(t, of(class, first), 1, "a fifth is not rejected")
	}
}

// TestNothingRejected: without a rejection nothing is counted, no clock is read, and nothing is withheld. A nil throttle knows nothing.
func TestNothingRejected(t *testing.T) {
	fail := func() float64 { t.Error("a number was drawn"); return 0 }
	quiet := New(func() time.Time { t.Error("the clock was read"); return time.Time{} }, fail, All)
	for _, throttle := range []*Throttle{quiet, nil} {
		for i := 0; i < 10; i++ {
			throttle.Ended(first, false, time.Second)
			if throttle.Decide(first) != Send {
				t.Error("it is withheld")
			}
		}
		if withheld, accepted := throttle.State(false); withheld != 0 || accepted != 1 {
			t.Errorf("the state is %v, %v", withheld, accepted)
		}
	}
	var none *Throttle
	none.Refused()
}

// TestClockGoesBack: no weight grows by that.
func TestClockGoesBack(t *testing.T) {
	s := newSubject()
	s.ended(first, 50, 50)
	s.at = s.at.Add(-time.Hour)
	s.expect(t, first, math.Pow(1.25/2, 4.5), "an hour before")
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

// BenchmarkActive is the cost of an attempt while the server rejects some, for as many goroutines as -cpu and SetParallelism say.
func BenchmarkActive(b *testing.B) {
	throttle := New(time.Now, func() float64 { return 0.5 }, All)
	throttle.Refused()
	b.SetParallelism(128)
	b.RunParallel(func(pb *testing.PB) {
		for n := 0; pb.Next(); n++ {
			if throttle.Decide(first) == Send {
				throttle.Ended(first, n%8 == 0, time.Millisecond)
			}
		}
	})
}

// BenchmarkIdle is that cost as long as it rejects nothing.
func BenchmarkIdle(b *testing.B) {
	throttle := New(time.Now, func() float64 { return 0.5 }, All)
	for n := 0; n < b.N; n++ {
		if throttle.Decide(first) == Send {
			throttle.Ended(first, false, time.Millisecond)
		}
	}
}
