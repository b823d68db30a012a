package backpressure

import (
	"context"
	"math"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
)

// stopped is a clock at noon that records how backoffs are waited for.
type stopped struct {
	slept  time.Duration
	caller context.Context
}

var noon = time.Date(2026, 8, 13, 12, 0, 0, 0, time.UTC)

func (*stopped) Now() time.Time { return noon }
func (c *stopped) Sleep(_, caller context.Context, _ <-chan struct{}, d time.Duration) error {
	c.slept, c.caller = d, caller
	return nil
}

// until is a context that ends some seconds after noon, or has ended at noon.
type until struct {
	context.Context
	seconds time.Duration
}

func (u until) Deadline() (time.Time, bool) { return noon.Add(u.seconds * time.Second), true }
func (u until) Err() error {
	if u.seconds <= 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// TestTimeLeft is about the end of backoffs: that of the command's context always, that of whoever waits for it only after the grace.
func TestTimeLeft(t *testing.T) {
	background := context.Background()
	in := func(seconds time.Duration) context.Context { return until{background, seconds} }
	const grace = 3 * time.Second
	tests := []struct {
		name    string
		ctx     context.Context
		purpose Purpose
		spent   time.Duration
		want    time.Duration
	}{
		{name: "no deadline", ctx: background, want: math.MaxInt64},
		{name: "deadline", ctx: in(5), want: 5 * time.Second},
		{name: "deadline passed", ctx: in(0), want: 0},
		{name: "deadline passed, in the grace", ctx: in(0), purpose: Purpose{Grace: grace}, want: 0},
		{name: "caller", ctx: background, purpose: Purpose{Caller: in(5)}, want: 5 * time.Second},
		{name: "caller without a deadline", ctx: in(5), purpose: Purpose{Caller: background}, want: 5 * time.Second},
		{name: "caller after the command", ctx: in(5), purpose: Purpose{Caller: in(9)}, want: 5 * time.Second},
		{name: "caller has gone", ctx: in(9), purpose: Purpose{Caller: in(0)}, want: 0},
		{name: "until", ctx: in(9), purpose: Purpose{Until: noon.Add(2 * time.Second)}, want: 2 * time.Second},
		{name: "until, past", ctx: in(9), purpose: Purpose{Until: noon.Add(-time.Second)}, want: 0},
		{name: "until before the caller", ctx: in(9), purpose: Purpose{Caller: in(5), Until: noon.Add(2 * time.Second)},
			want: 2 * time.Second},
		{name: "until after the caller", ctx: in(9), purpose: Purpose{Caller: in(5), Until: noon.Add(7 * time.Second)},
			want: 5 * time.Second},
		{name: "grace", ctx: in(9), purpose: Purpose{Caller: in(0), Grace: grace}, want: 3 * time.Second},
		{name: "rest of the grace", ctx: in(9), purpose: Purpose{Caller: in(0), Grace: grace}, spent: time.Second,
			want: 2 * time.Second},
		{name: "grace is over", ctx: in(9), purpose: Purpose{Caller: in(1), Grace: grace}, spent: 3 * time.Second,
			want: time.Second},
		{name: "grace and until", ctx: in(9), purpose: Purpose{Until: noon.Add(-time.Second), Grace: grace}, want: 3 * time.Second},
		{name: "grace, but the command's deadline", ctx: in(2), purpose: Purpose{Caller: in(0), Grace: grace},
			want: 2 * time.Second},
		{name: "longer than the grace", ctx: background, purpose: Purpose{Caller: in(8), Grace: grace}, want: 8 * time.Second},
	}
	for _, tt := range tests {
		policy := &Policy{Clock: &stopped{}}
		assert.Equal(t, tt.want, policy.Left(tt.ctx, tt.purpose, tt.spent), tt.name)
	}
	assert.Equal(t, retry.NoDeadline, (*Policy)(nil).Left(in(1), Purpose{}, 0), "without a policy there are no backoffs")
}

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
	for i := 0; i < 50; i++ { // whichever is seen first
		if err := (SystemClock{}).Sleep(ended, nil, closed, 5*time.Second); err != context.Canceled {
			t.Errorf("the client is disconnected, and its own context has ended: %v, want %v", err, context.Canceled)
		}
	}
	if err := (SystemClock{}).Sleep(live, nil, nil, 0); err != nil {
		t.Errorf("no context has ended: %v", err)
	}
}
