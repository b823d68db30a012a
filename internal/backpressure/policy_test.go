package backpressure

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
)

// stopped is a clock at noon.
type stopped struct{ SystemClock }

var noon = time.Date(2026, 8, 13, 12, 0, 0, 0, time.UTC)

func (stopped) Now() time.Time { return noon }

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
	after := func(seconds time.Duration) time.Time { return noon.Add(seconds * time.Second) }
	for _, tt := range []struct {
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
		{name: "until", ctx: in(9), purpose: Purpose{Until: after(2)}, want: 2 * time.Second},
		{name: "until, past", ctx: in(9), purpose: Purpose{Until: after(-1)}, want: 0},
		{name: "until before the caller", ctx: in(9), purpose: Purpose{Caller: in(5), Until: after(2)}, want: 2 * time.Second},
		{name: "until after the caller", ctx: in(9), purpose: Purpose{Caller: in(5), Until: after(7)}, want: 5 * time.Second},
		{name: "grace", ctx: in(9), purpose: Purpose{Caller: in(0), Grace: grace}, want: grace},
		{name: "rest of the grace", ctx: in(9), purpose: Purpose{Caller: in(0), Grace: grace}, spent: time.Second, want: 2 * time.Second},
		{name: "grace is over", ctx: in(9), purpose: Purpose{Caller: in(1), Grace: grace}, spent: grace, want: time.Second},
		{name: "grace and until", ctx: in(9), purpose: Purpose{Until: after(-1), Grace: grace}, want: grace},
		{name: "grace, but the command's deadline", ctx: in(2), purpose: Purpose{Caller: in(0), Grace: grace}, want: 2 * time.Second},
		{name: "longer than the grace", ctx: background, purpose: Purpose{Caller: in(8), Grace: grace}, want: 8 * time.Second},
	} {
		policy := &Policy{Clock: stopped{}}
		assert.Equal(t, tt.want, policy.Left(tt.ctx, tt.purpose, tt.spent), tt.name)
	}
	assert.Equal(t, retry.NoDeadline, (*Policy)(nil).Left(in(1), Purpose{}, 0), "without a policy there are no backoffs")
}

// TestSystemClockWakesUp is about a backoff that nobody waits for any more, whichever context says so.
func TestSystemClockWakesUp(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	live, open, closed := context.Background(), make(chan struct{}), make(chan struct{})
	close(closed)
	for name, tt := range map[string]struct {
		own, callers context.Context
		closed       chan struct{}
		want         error
	}{
		"its own context":                    {ended, nil, open, context.Canceled},
		"the command's":                      {ended, live, open, context.Canceled},
		"the caller's":                       {live, ended, open, context.Canceled},
		"the client is disconnected":         {live, nil, closed, ErrDisconnected},
		"and, which counts, its own context": {ended, nil, closed, context.Canceled},
	} {
		for i := 0; i < 50; i++ { // whichever is seen first
			assert.Equal(t, tt.want, SystemClock{}.Sleep(tt.own, tt.callers, tt.closed, 5*time.Second), name)
		}
	}
	assert.NoError(t, SystemClock{}.Sleep(live, nil, nil, 0))
}

func TestInterruption(t *testing.T) {
	failed := errors.New("the command failed")
	const when = "no time for a retry"
	tests := map[string]Interruption{
		"the command failed: no time for a retry: context canceled": {Err: failed, When: when, Cause: context.Canceled},
		"no time for a retry: context canceled":                     {When: when, Cause: context.Canceled},
		"context canceled":                                          {Err: failed, Cause: context.Canceled},
	}
	for want, interruption := range tests {
		assert.Equal(t, want, interruption.Error())
		assert.True(t, errors.Is(interruption, context.Canceled))
		assert.Equal(t, interruption.Err != nil, errors.Is(interruption, failed))
	}
	other := errors.New("all writes failed")
	around := tests["context canceled"].Around(other)
	assert.True(t, errors.Is(around, other) && errors.Is(around, context.Canceled) && !errors.Is(around, failed))
	first := Interruption{Err: driverException{labels: []string{"a"}}, Cause: context.Canceled}
	again := first.Around(driverException{labels: []string{"b"}}).Around(driverException{labels: []string{"c"}})
	for label, want := range map[string]bool{"a": true, "b": false, "c": true} {
		assert.Equal(t, want, again.HasErrorLabel(label), "the labels of the first error, and of the last")
	}

	// The exceptions hold slices.
	one := Interruption{Err: driverException{labels: []string{"a"}}, Cause: context.Canceled}
	assert.False(t, errors.Is(one, one), "compared")
}

// TestEndOfACaller is about a command whose context, or whose caller's, has ended.
func TestEndOfACaller(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, contexts := range [][2]context.Context{{ended, nil}, {ended, context.Background()}, {context.Background(), ended}} {
		assert.Equal(t, context.Canceled, Purpose{Caller: contexts[1]}.Err(contexts[0]))
	}
	assert.NoError(t, Purpose{Caller: context.Background()}.Err(context.Background()))
}

type driverException struct{ labels []string }

func (driverException) Error() string { return "" }

func (e driverException) HasErrorLabel(label string) bool {
	for _, has := range e.labels {
		if has == label {
			return true
		}
	}
	return false
}
