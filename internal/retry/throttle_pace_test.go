package retry

import (
	"testing"
	"time"
)

// TestThrottleLittle: a client that sends a command every two seconds sends retries only for tokens, one that sends more as ever.
func TestThrottleLittle(t *testing.T) {
	for _, tt := range []struct {
		name  string
		every time.Duration
		earns func(*Throttle)
		want  int // of ten retries, drawn to be sent
	}{
		{name: "two seconds", every: 2 * time.Second, want: 0},
		{name: "two seconds, refusals", every: 2 * time.Second, earns: func(x *Throttle) { x.HeldBack(Attempt{First: true}) },
			want: 0},
		{name: "two seconds, a retry is accepted", every: 2 * time.Second, earns: func(x *Throttle) { x.Ended(Attempt{}, false) },
			want: 1},
		{name: "two seconds, ten are accepted", every: 2 * time.Second, earns: func(x *Throttle) {
			repeat(10, func() { x.Ended(Attempt{First: true}, false) })
		}, want: 1},
		{name: "a second", every: time.Second, want: 10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			clock := &manualClock{time: time.Unix(1, 0)}
			throttle := NewThrottle(DefaultThrottling(), clock.now)
			for i := 0; i < 20; i++ {
				clock.advance(tt.every)
				throttle.Ended(Attempt{First: true}, true)
			}
			if tt.earns != nil {
				tt.earns(throttle)
			}
			sent := 0
			repeat(10, func() {
				if !throttle.HoldsBack(Attempt{}, 0.999) {
					sent++
				}
			})
			if sent != tt.want {
				t.Errorf("%d retries were sent, want %d", sent, tt.want)
			}
		})
	}
}

// TestThrottlePaceIsUnknownAtFirst: until a few commands have ended, a client counts as one that sends little.
func TestThrottlePaceIsUnknownAtFirst(t *testing.T) {
	clock := &manualClock{time: time.Unix(1, 0)}
	throttle := NewThrottle(DefaultThrottling(), clock.now)
	commands := 0
	for throttle.Ended(Attempt{First: true}, true); throttle.HoldsBack(Attempt{}, 0.999); throttle.Ended(Attempt{First: true}, true) {
		clock.advance(150 * time.Millisecond)
		if commands++; commands > 100 {
			t.Fatal("it never counts as one that sends much")
		}
	}
	if commands != 2 {
		t.Errorf("its pace was known after %d commands, want 2", commands)
	}
}

func TestThrottleLasts(t *testing.T) {
	const ms = time.Millisecond
	type step struct {
		after    time.Duration // of rejections, one in 100 ms
		calm     time.Duration // without any after them
		attempt  Attempt
		want     float64 // the share that fails
		heldBack bool    // instead of rejections
	}
	for _, tt := range []struct {
		name  string
		steps []step
	}{
		{name: "not at first", steps: []step{{after: 2000 * ms, want: 0}}},
		{name: "then of more and more", steps: []step{{after: 3100 * ms, want: 0.25}, {after: 2000 * ms, want: 0.75}}},
		{name: "of all after six seconds", steps: []step{{after: 6200 * ms, want: 1}}},
		{name: "not of a first attempt", steps: []step{{after: 6200 * ms, attempt: Attempt{First: true}}}},
		{name: "of what is critical alone", steps: []step{{after: 6200 * ms, attempt: Attempt{Criticality: Critical}, want: 1}}},
		{name: "not once K grows", steps: []step{{after: 6200 * ms, calm: 1300 * ms}}},
		{name: "a second of calm ends it", steps: []step{{after: 6200 * ms, calm: 1300 * ms}, {after: 1000 * ms}}},
		{name: "half a second does not",
			steps: []step{{after: 2500 * ms, calm: 500 * ms, want: 0.25}, {after: 1100 * ms, want: 0.5}}},
		{name: "what is held back counts", steps: []step{{after: 1100 * ms}, {after: 1800 * ms, heldBack: true},
			{after: 200 * ms, want: 0.25}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			throttle, clock := newThrottle()
			for i, s := range tt.steps {
				for passed := time.Duration(0); passed < s.after; passed += 100 * ms {
					clock.advance(100 * ms)
					if s.heldBack {
						throttle.HeldBack(Attempt{})
					} else {
						throttle.Ended(Attempt{}, true)
					}
				}
				clock.advance(s.calm)
				failing := 0
				for draw := 0; draw < 20; draw++ {
					if throttle.Lasts(s.attempt, float64(draw)/20) {
						failing++
					}
				}
				if got := float64(failing) / 20; got != s.want {
					t.Errorf("step %d: %v fails, want %v", i+1, got, s.want)
				}
			}
		})
	}
}

// TestThrottleSpares: what is held back need not count while less critical work is there, or in a burst for who makes few retries or
// knows little.
func TestThrottleSpares(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		name     string
		after    time.Duration // of rejections
		accepted int
		gap      time.Duration
		attempt  Attempt
		other    Criticality
		limit    Limit
		want     bool
	}{
		{name: "few retries in a burst", accepted: 10, limit: 4, want: true},
		{name: "five", accepted: 10, limit: 5, want: false},
		{name: "five, but little is known", accepted: 10, gap: 600 * ms, limit: 5, want: true},
		{name: "five, and more is known", accepted: 10, gap: 400 * ms, limit: 5, want: false},
		{name: "not after two seconds", after: 2100 * ms, accepted: 10, limit: 2, want: false},
		{name: "not if a tenth is accepted or less", after: 1000 * ms, accepted: 1, limit: 2, want: false},
		{name: "critical, beside others", after: 2100 * ms, attempt: Attempt{Criticality: Critical}, limit: 5, want: true},
		{name: "critical, as all are", after: 2100 * ms, attempt: Attempt{Criticality: Critical}, other: Critical, limit: 5},
		{name: "the others", after: 2100 * ms, limit: 2, want: false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			throttle, clock := newThrottle()
			throttle.pace.gap = tt.gap
			throttle.Ended(tt.attempt, true)
			for passed := time.Duration(0); passed < tt.after; passed += 100 * ms {
				clock.advance(100 * ms)
				throttle.Ended(tt.attempt, true)
				throttle.Ended(Attempt{Criticality: tt.other}, true)
			}
			repeat(tt.accepted, func() { throttle.Ended(tt.attempt, false) })
			if got := throttle.Spares(tt.attempt, tt.limit); got != tt.want {
				t.Errorf("it is %v, want %v", got, tt.want)
			}
		})
	}
}

func TestThrottleReplyTime(t *testing.T) {
	throttle, _ := newThrottle()
	throttle.Ended(Attempt{Took: time.Hour}, false)
	if got := throttle.State().ReplyTime; got != 0 {
		t.Errorf("without rejections it is %v", got)
	}
	throttle.Ended(Attempt{Took: time.Hour}, true)
	throttle.Ended(Attempt{Took: 80 * time.Millisecond}, false)
	throttle.Ended(Attempt{Took: 160 * time.Millisecond}, false)
	throttle.Ended(Attempt{}, false) // nobody knows how long it took
	throttle.Ended(Attempt{Took: -time.Hour}, false)
	if got, want := throttle.State().ReplyTime, 90*time.Millisecond; got != want {
		t.Errorf("it is %v, want %v", got, want)
	}
}

// TestThrottleKept: what is sent in any case counts, and what is too much is taken from the rest.
func TestThrottleKept(t *testing.T) {
	throttle, clock := newThrottle()
	kept := Attempt{First: true, Kept: true}
	repeat(40, func() { throttle.Ended(kept, true) })
	repeat(40, func() { throttle.Ended(kept, false) })
	repeat(20, func() { throttle.Ended(Attempt{}, false) })
	if throttle.HoldsBack(kept, 0) {
		t.Error("it is held back")
	}
	// 100 - 1.1*60 = 34 are too many, more than the 20 that can be held back.
	if got := throttle.probability(clock.time, Attempt{Criticality: Normal}); got != 1 {
		t.Errorf("of the rest %v is held back, want 1", got)
	}
	if got, want := throttle.State().Rejected, 0.4; got-want > 1e-9 || want-got > 1e-9 {
		t.Errorf("%v are rejected, want %v", got, want)
	}
}

// TestThrottleAgain: an overload after a calm of a second, or of two gaps if that is longer, begins anew, and only then.
func TestThrottleAgain(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		name           string
		gap            time.Duration
		pause          time.Duration
		heldBack, want bool
	}{
		{name: "a pause", gap: 10 * ms, pause: 1001 * ms, want: true},
		{name: "a shorter one", gap: 10 * ms, pause: 999 * ms, want: false},
		{name: "two gaps", gap: 2000 * ms, pause: 4001 * ms, want: true},
		{name: "less than two", gap: 2000 * ms, pause: 3999 * ms, want: false},
		{name: "before what is held back", gap: 10 * ms, pause: 1001 * ms, heldBack: true, want: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			throttle, clock := newThrottle()
			throttle.Ended(Attempt{}, true)
			throttle.known.gap = tt.gap
			throttle.known.floor.enough = 100
			clock.advance(tt.pause)
			if tt.heldBack {
				throttle.HeldBack(Attempt{})
			} else {
				throttle.Ended(Attempt{}, true)
			}
			if got := throttle.known.floor.enough < 100; got != tt.want {
				t.Errorf("it begins anew: %v, want %v", got, tt.want)
			}
		})
	}
}
