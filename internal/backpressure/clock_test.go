package backpressure

import (
	"context"
	"testing"
	"time"
)

// TestSystemClockWakesUp is about a backoff that nobody waits for any more, whichever context says so.
func TestSystemClockWakesUp(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	live := context.Background()
	for name, contexts := range map[string][2]context.Context{
		"its own": {ended, nil}, "the command's": {ended, live}, "the caller's": {live, ended},
	} {
		if err := (SystemClock{}).Sleep(contexts[0], contexts[1], nil, 5*time.Second); err != context.Canceled {
			t.Errorf("%s context has ended: %v, want %v", name, err, context.Canceled)
		}
	}
	closed := make(chan struct{})
	close(closed)
	if err := (SystemClock{}).Sleep(live, nil, closed, 5*time.Second); err != ErrDisconnected {
		t.Errorf("the client is disconnected: %v, want %v", err, ErrDisconnected)
	}
	if err := (SystemClock{}).Sleep(ended, nil, closed, 5*time.Second); err != context.Canceled {
		t.Errorf("the client is disconnected, and its own context has ended: %v, want %v", err, context.Canceled)
	}
	if err := (SystemClock{}).Sleep(live, nil, nil, 0); err != nil {
		t.Errorf("no context has ended: %v", err)
	}
}
