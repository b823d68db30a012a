package conduct

import (
	"context"
	"fmt"
	"io"
	"time"

	"mongofork/lab/internal/clock"
	"mongofork/lab/internal/members"
	"mongofork/lab/internal/soak"
	"mongofork/lab/internal/topology"
)

const (
	stepDownTime = 3 * time.Second
	// restartPatience bounds the restart of a member.
	restartPatience = 3 * time.Minute
)

// replicaSet is the set to which the events happen.
type replicaSet interface {
	Process(ctx context.Context, member int, action members.Action) error
	Partition(cut []int, duration time.Duration) error
	StepDown(period time.Duration) error
	Status() topology.Status
}

// disturber carries out the events that happen to members.
type disturber struct {
	set      replicaSet
	progress io.Writer
}

// run carries out the events of a plan, one after the other; it only announces those of fronts. When it returns, all members run
// and reach each other.
func (d *disturber) run(ctx context.Context, events []soak.Event, start time.Time) error {
	for _, e := range events {
		if (clock.System{}).Wait(ctx, time.Until(start.Add(e.At))) != nil {
			return nil
		}
		fmt.Fprintf(d.progress, "  %v\n", e)
		if !e.OfMember() {
			continue
		}
		if err := d.happen(ctx, e); err != nil {
			return fmt.Errorf("%v: %w", e, err)
		}
	}
	return nil
}

// happen starts an event, and ends it after its time or with the context.
func (d *disturber) happen(ctx context.Context, e soak.Event) error {
	if e.Action == soak.CommitKill {
		_ = (clock.System{}).Wait(ctx, soak.CommitHold)
		e.For -= soak.CommitHold
	}
	member := d.target(e)
	begin, end := d.actions(e.Action, member)
	if begin == nil {
		return fmt.Errorf("unknown action %q", e.Action)
	}
	if err := begin(ctx); err != nil {
		return fmt.Errorf("member %d: %w", member, err)
	}
	_ = (clock.System{}).Wait(ctx, e.For)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restartPatience)
	defer cancel()
	if err := end(ctx); err != nil {
		return fmt.Errorf("member %d: %w", member, err)
	}
	return nil
}

// actions returns the actions that begin and end an event.
func (d *disturber) actions(action soak.Action, member int) (begin, end func(context.Context) error) {
	process := func(action members.Action) func(context.Context) error {
		return func(ctx context.Context) error { return d.set.Process(ctx, member, action) }
	}
	switch action {
	case soak.Kill, soak.CommitKill:
		return process(members.Kill), process(members.Restart)
	case soak.Pause:
		return process(members.Pause), process(members.Resume)
	case soak.Isolate:
		return func(context.Context) error { return d.set.Partition([]int{member}, 0) },
			func(context.Context) error { return d.set.Partition(nil, 0) }
	case soak.StepDown:
		return func(context.Context) error { return d.stepDown() }, func(context.Context) error { return nil }
	default:
		return nil, nil
	}
}

// stepDown makes the primary step down. If there is none, or it does not stay one, there is nothing to do.
func (d *disturber) stepDown() error {
	if err := d.set.StepDown(stepDownTime); err != nil {
		fmt.Fprintf(d.progress, "    %v\n", err)
	}
	return nil
}

// target returns the number of the member that an event happens to.
func (d *disturber) target(e soak.Event) int {
	if !e.Primary {
		return e.Front
	}
	for i, m := range d.set.Status().Members {
		if m.Role == topology.RolePrimary {
			return i
		}
	}
	return e.Front
}
