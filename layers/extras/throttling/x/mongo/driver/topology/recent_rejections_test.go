package topology

import (
	"sync"
	"testing"
	"time"
)

func newRejections() (*recentRejections, *manualClock) {
	clock := &manualClock{time: time.Unix(1, 0)}
	return &recentRejections{now: clock.Now}, clock
}

func TestRejectionsDecay(t *testing.T) {
	type step struct {
		after time.Duration
		add   int
		want  int64
	}
	const ms = time.Millisecond
	tests := []struct {
		name  string
		steps []step
	}{
		{name: "none", steps: []step{{after: 0, add: 0, want: 0}, {after: time.Hour, add: 0, want: 0}}},
		{name: "one", steps: []step{{after: 0, add: 1, want: 1}, {after: 207 * ms, add: 0, want: 1},
			{after: 2 * ms, add: 0, want: 0}, {after: time.Hour, add: 0, want: 0}}},
		{name: "the first moment is like any other", steps: []step{{after: 0, add: 1, want: 1}, {after: 0, add: 1, want: 2},
			{after: 0, add: 1, want: 3}}},
		{name: "ten at once", steps: []step{
			{after: 50 * ms, add: 10, want: 10}, {after: 300 * ms, add: 0, want: 4}, {after: 300 * ms, add: 0, want: 1},
			{after: 400 * ms, add: 0, want: 0},
		}},
		// 10/e + 10 = 13.68, and that twice as long: 5.03 + 1
		{name: "more", steps: []step{{after: 0, add: 10, want: 10}, {after: 300 * ms, add: 10, want: 14},
			{after: 300 * ms, add: 1, want: 6}}},
		{name: "again after it was forgotten", steps: []step{{after: 0, add: 1, want: 1}, {after: time.Hour, add: 0, want: 0},
			{after: time.Hour, add: 2, want: 2}}},
		{name: "again without a look meanwhile",
			steps: []step{{after: 0, add: 1, want: 1}, {after: 10000 * time.Hour, add: 2, want: 2}}},
	}
	for _, tt := range tests {
		tt := tt
		t.Run(tt.name, func(t *testing.T) {
			r, clock := newRejections()
			for i, s := range tt.steps {
				clock.time = clock.time.Add(s.after)
				for j := 0; j < s.add; j++ {
					r.add()
				}
				if got := r.count(); got != s.want {
					t.Fatalf("step %d: count is %d, want %d", i+1, got, s.want)
				}
			}
		})
	}
}

// TestRejectionsCountLikeOperations is about what the count is added to: as many as are in progress, on average, when
// each takes the time constant.
func TestRejectionsCountLikeOperations(t *testing.T) {
	const perSecond = 200
	r, clock := newRejections()
	for i := 0; i < 5*perSecond; i++ {
		clock.time = clock.time.Add(time.Second / perSecond)
		r.add()
	}
	const want = 60 // in 300 ms
	if got := r.count(); got < want-1 || got > want+1 {
		t.Errorf("count is %v at %d rejections a second, want %v", got, perSecond, want)
	}
}

func TestRejectionsConcurrent(t *testing.T) {
	const goroutines, each = 8, 100
	r, _ := newRejections()
	var wg sync.WaitGroup
	for i := 0; i < goroutines; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for j := 0; j < each; j++ {
				r.add()
				if got := r.count(); got < 1 || got > goroutines*each {
					t.Errorf("count is %d, want 1 to %d", got, goroutines*each)
				}
			}
		}()
	}
	wg.Wait()
	if got := r.count(); got != goroutines*each {
		t.Errorf("count is %d, want %d", got, goroutines*each)
	}
}
