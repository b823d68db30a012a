package soak

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"mongofork/lab/internal/clock"
	"mongofork/lab/internal/fault"
	"mongofork/lab/internal/overload"
	"mongofork/lab/internal/realset"
	"mongofork/lab/internal/topology"
)

const (
	// killTime is the time by which commits are held longer than killing the member takes.
	killTime     = 100 * time.Millisecond
	stepDownTime = 3 * time.Second
	// restartPatience bounds the restart of a member.
	restartPatience = 3 * time.Minute
)

// replicaSet is the set to which the events happen.
type replicaSet interface {
	Disturb(ctx context.Context, what string, member int, after time.Duration) error
	StepDown(period time.Duration) error
	Roles() []topology.Role
}

// disturber carries out the events of a plan.
type disturber struct {
	set      replicaSet
	stations []*station
	progress io.Writer
}

// run carries out the events, one after the other. When it returns, all members run and reach each other, and there are no limits.
func (d *disturber) run(ctx context.Context, events []Event, start time.Time) error {
	for _, e := range events {
		if clock.Wait(ctx, time.Until(start.Add(e.At))) != nil {
			return nil
		}
		fmt.Fprintf(d.progress, "  %v\n", e)
		if err := d.happen(ctx, e); err != nil {
			return fmt.Errorf("%v: %w", e, err)
		}
	}
	return nil
}

// happen starts an event, and ends it after its time or with the context.
func (d *disturber) happen(ctx context.Context, e Event) error {
	if e.Action == CommitKill {
		for _, s := range d.stations {
			s.commits.close(commitHold + killTime)
		}
		_ = clock.Wait(ctx, commitHold)
		e.For -= commitHold
	}
	begin, end := d.actions(e.Action, d.target(e), e)
	if err := begin(ctx); err != nil {
		return err
	}
	_ = clock.Wait(ctx, e.For)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restartPatience)
	defer cancel()
	return end(ctx)
}

// action is the beginning or the end of an event.
type action func(context.Context) error

// actions returns the actions that begin and end an event at a member, or at its front.
func (d *disturber) actions(what Action, member int, e Event) (begin, end action) {
	of := func(what string) action {
		return func(ctx context.Context) error { return d.set.Disturb(ctx, what, member, 0) }
	}
	switch what {
	case Kill, CommitKill:
		return of(realset.Kill), of(realset.Restart)
	case Pause:
		return of(realset.Pause), of(realset.Resume)
	case Isolate:
		return of(realset.Partition), of(realset.Heal)
	case StepDown:
		return d.stepDown, nothing
	case Rejections:
		return d.each(func(s *station) error { s.rejection.on.Store(true); return nil }),
			d.each(func(s *station) error { s.rejection.on.Store(false); return nil })
	case Overload:
		return d.limits(requests, e.Rate), d.limits(requests, 0)
	case ConnectionLimit:
		return func(ctx context.Context) error {
			// The limit is about connections that are needed again.
			if err := d.fault(member, fault.Reset, time.Millisecond)(ctx); err != nil {
				return err
			}
			return d.limits(connections, e.Rate)(ctx)
		}, d.limits(connections, 0)
	default:
		return d.fault(member, fault.Kind(what), 0), d.fault(member, fault.Off, 0)
	}
}

func nothing(context.Context) error { return nil }

// each does something at every station.
func (d *disturber) each(do func(*station) error) action {
	return func(context.Context) error {
		for _, s := range d.stations {
			if err := do(s); err != nil {
				return err
			}
		}
		return nil
	}
}

func (d *disturber) fault(front int, kind fault.Kind, after time.Duration) action {
	return d.each(func(s *station) error { return s.lab.SetFault(front, kind, after) })
}

func requests(f *overload.Front) *overload.Limiter    { return f.Requests }
func connections(f *overload.Front) *overload.Limiter { return f.Connections }

// limits sets a rate at all fronts; 0 stands for no limit.
func (d *disturber) limits(which func(*overload.Front) *overload.Limiter, rate int32) action {
	limit := overload.Unlimited()
	if rate > 0 {
		limit = overload.Limit{Enabled: true, RatePerSec: rate, BurstCapacitySecs: 0.1}
	}
	return d.each(func(s *station) error {
		for front := range s.lab.Hosts() {
			if err := which(s.lab.Limits(front)).SetLimit(limit); err != nil {
				return err
			}
		}
		return nil
	})
}

// stepDown makes the primary step down. If there is none, or it does not stay one, there is nothing to do.
func (d *disturber) stepDown(context.Context) error {
	if err := d.set.StepDown(stepDownTime); err != nil {
		fmt.Fprintf(d.progress, "    %v\n", err)
	}
	return nil
}

// target returns the number of the member that an event happens to.
func (d *disturber) target(e Event) int {
	if primary := slices.Index(d.set.Roles(), topology.RolePrimary); e.Primary && primary >= 0 {
		return primary
	}
	return e.Member
}
