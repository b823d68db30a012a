package overload

import (
	"context"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/adaptivethrottler"
	"github.com/failsafe-go/failsafe-go/priority"
)

// wrapper does a call in the way of an application. Its class says what to refuse first.
type wrapper func(ctx context.Context, criticality int8, call func() error) error

// plainly does the call.
func plainly(_ context.Context, _ int8, call func() error) error { return call() }

// newThrottler returns a client's PriorityThrottler, with the numbers of its documentation: it starts to refuse at a tenth of
// failures in a minute, after five calls, refuses nine tenths at most, and calibrates each second until the context ends. Any
// error is a failure, because upstream's driver does not always return the one that has the labels.
func newThrottler(ctx context.Context) wrapper {
	prioritizer := adaptivethrottler.NewPrioritizer()
	prioritizer.ScheduleCalibrations(ctx, time.Second)
	executor := failsafe.With(adaptivethrottler.NewBuilder[any]().
		WithFailureRateThreshold(0.1, 5, time.Minute).
		WithMaxRejectionRate(0.9).
		BuildPrioritized(prioritizer))
	priorities := map[int8]priority.Priority{-1: priority.Low, 0: priority.Medium, 1: priority.High}
	return func(ctx context.Context, criticality int8, call func() error) error {
		return executor.WithContext(priorities[criticality].AddTo(ctx)).Run(call)
	}
}
