package csot

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
)

// TestLateTimeout compares with context.WithTimeout, whether or not somebody waits first.
func TestLateTimeout(t *testing.T) {
	t.Parallel()
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	past, cancelPast := context.WithDeadline(context.Background(), time.Now().Add(-time.Hour))
	defer cancelPast()
	sooner, cancelSooner := context.WithTimeout(context.Background(), time.Minute)
	defer cancelSooner()

	for name, tt := range map[string]struct {
		parent  context.Context
		timeout time.Duration
		ended   bool
	}{
		"running":                {parent: context.Background(), timeout: time.Hour},
		"canceled":               {parent: context.Background(), timeout: time.Hour, ended: true},
		"over":                   {parent: context.Background(), timeout: time.Nanosecond},
		"over and canceled":      {parent: context.Background(), timeout: time.Nanosecond, ended: true},
		"no timeout":             {parent: context.Background()},
		"parent canceled":        {parent: canceled, timeout: time.Hour},
		"parent over":            {parent: past, timeout: time.Hour},
		"parent is over sooner":  {parent: sooner, timeout: time.Hour},
		"parent is over later":   {parent: sooner, timeout: time.Second},
		"parent over, and ended": {parent: past, timeout: time.Hour, ended: true},
	} {
		for _, waits := range []bool{false, true} {
			want, cancelWant := tt.parent, func() {}
			if tt.timeout > 0 {
				want, cancelWant = context.WithTimeout(tt.parent, tt.timeout)
			}
			got, cancelGot := WithServerSelectionTimeout(tt.parent, tt.timeout)
			if waits {
				_ = got.Done()
			}
			if tt.timeout == time.Nanosecond {
				<-want.Done()
			}
			if tt.ended {
				cancelWant()
				cancelGot()
			}
			assert.Equal(t, want.Err(), got.Err(), name)
			assert.Equal(t, want.Err(), got.Err(), name+", asked again")
			if want.Err() != nil {
				<-got.Done()
			}
			wantDeadline, wantOK := want.Deadline()
			deadline, ok := got.Deadline()
			assert.Equal(t, wantOK, ok, name)
			assert.InDelta(t, wantDeadline.UnixMilli(), deadline.UnixMilli(), 60_000, name)
			cancelWant()
			cancelGot()
			assert.Equal(t, want.Err(), got.Err(), name+", at the end")
		}
	}
}

// TestLateTimeoutThatWasCanceled: the deadline passes between the cancellation and the first question.
func TestLateTimeoutThatWasCanceled(t *testing.T) {
	t.Parallel()
	c := &lateTimeout{Context: context.Background(), deadline: time.Now().Add(time.Hour)}
	c.cancel()
	c.deadline = time.Now()
	assert.Equal(t, context.Canceled, c.Err())
}

// TestLateTimeoutInParallel: goroutines that wait for the end, ask for it and cancel all at once get the same answer.
func TestLateTimeoutInParallel(t *testing.T) {
	t.Parallel()
	for n := 0; n < 200; n++ {
		ctx, cancel := WithServerSelectionTimeout(context.Background(), time.Hour)
		var asking sync.WaitGroup
		together := make(chan struct{}) // so that no lock of the context orders what follows
		for g := 0; g < 9; g++ {
			g := g
			asking.Add(1)
			go func() {
				defer asking.Done()
				<-together
				switch g % 3 {
				case 0:
					<-ctx.Done()
				case 1:
					cancel()
				default:
					if err := ctx.Err(); err != nil && err != context.Canceled {
						t.Error(err)
					}
					<-ctx.Done()
				}
				if err := ctx.Err(); err != context.Canceled {
					t.Errorf("got %v, want %v", err, context.Canceled)
				}
			}()
		}
		close(together)
		asking.Wait()
	}
}
