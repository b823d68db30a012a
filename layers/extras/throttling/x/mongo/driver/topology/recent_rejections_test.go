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
