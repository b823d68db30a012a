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
		{name: "two seconds, one refusal", every: 2 * time.Second, earns: func(x *Throttle) { x.HeldBack(Attempt{First: true}) },
			want: 1},
		{name: "two seconds, refusals of retries", every: 2 * time.Second, earns: func(x *Throttle) { x.HeldBack(Attempt{}) },
			want: 0},
		{name: "two seconds, a retry is accepted", every: 2 * time.Second, earns: func(x *Throttle) { x.Ended(Attempt{}, false) },
			want: 1},
		{name: "two seconds, ten are accepted", every: 2 * time.Second, earns: func(x *Throttle) {
			repeat(10, func() { x.Ended(Attempt{First: true}, false) })
		}, want: 1},
		{name: "half a second", every: 500 * time.Millisecond, want: 10},
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
	if commands < 2 || commands > 4 {
		t.Errorf("its pace was known after %d commands, want 2 to 4", commands)
	}
}

func TestThrottleLasts(t *testing.T) {
	const ms = time.Millisecond
	type step struct {
		after    time.Duration // of rejections, one in 100 ms
		calm     time.Duration // without any after them
		attempt  Attempt
		want     bool
		heldBack bool // instead of rejections
	}
	for _, tt := range []struct {
		name  string
		steps []step
	}{
		{name: "not at first", steps: []step{{after: 2900 * ms}}},
		{name: "after three seconds", steps: []step{{after: 3200 * ms, want: true}}},
		{name: "not of a first attempt", steps: []step{{after: 3200 * ms, attempt: Attempt{First: true}}}},
		{name: "not of what is critical", steps: []step{{after: 3200 * ms, attempt: Attempt{Criticality: Critical}}}},
		{name: "not once K grows", steps: []step{{after: 3200 * ms, calm: 1300 * ms}}},
		{name: "a second of calm ends it", steps: []step{{after: 3200 * ms, calm: 1300 * ms}, {after: 1000 * ms}}},
		{name: "half a second does not", steps: []step{{after: 2500 * ms, calm: 500 * ms}, {after: 500 * ms, want: true}}},
		{name: "what is held back counts", steps: []step{{after: 1600 * ms}, {after: 1500 * ms, heldBack: true},
			{after: 200 * ms, want: true}}},
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
				if got := throttle.Lasts(s.attempt); got != s.want {
					t.Errorf("step %d: it lasts: %v, want %v", i+1, got, s.want)
				}
			}
		})
	}
}

func TestThrottleReplyTime(t *testing.T) {
	throttle, _ := newThrottle()
	throttle.Ended(Attempt{Took: time.Hour}, false)
	if got := throttle.ReplyTime(); got != 0 {
		t.Errorf("without rejections it is %v", got)
	}
	throttle.Ended(Attempt{Took: time.Hour}, true)
	throttle.Ended(Attempt{Took: 80 * time.Millisecond}, false)
	throttle.Ended(Attempt{Took: 160 * time.Millisecond}, false)
	if got, want := throttle.ReplyTime(), 90*time.Millisecond; got != want {
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
	if got := throttle.probability(clock.time, Normal); got != 1 {
		t.Errorf("of the rest %v is held back, want 1", got)
	}
	if got, want := throttle.State().Rejected, 0.4; got-want > 1e-9 || want-got > 1e-9 {
		t.Errorf("%v are rejected, want %v", got, want)
	}
}
