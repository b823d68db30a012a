package soak

import (
	"context"
	"fmt"
	"io"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/clock"
	"mongofork/lab/internal/overload"
	"mongofork/tools/rig/server"
)

const (
	// stepDownSecs is how long a primary that steps down is not elected, and stepDownTimeout bounds how long that takes.
	stepDownSecs    = 3
	stepDownTimeout = 30 * time.Second
	// restartPatience bounds the restart of a member.
	restartPatience = 3 * time.Minute
)

// deployment is what an application sees, a fronts.Lab.
type deployment interface {
	Disturb(ctx context.Context, what string, member int) error
	Hosts() []string
	Limits(front int) *overload.Front
}

// members are those of the replica set behind all deployments.
type members interface {
	primary(ctx context.Context) (member int, found bool)
	stepDown(ctx context.Context) error
}

// replicaSet are real members.
type replicaSet struct{ *server.Deployment }

func (s replicaSet) primary(ctx context.Context) (int, bool) {
	for i, m := range s.Members() {
		if m.IsPrimary(ctx) {
			return i, true
		}
	}
	return 0, false
}

func (s replicaSet) stepDown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stepDownTimeout)
	defer cancel()
	return s.RunAdmin(ctx, bson.D{
		{Key: "replSetStepDown", Value: stepDownSecs}, {Key: "force", Value: true},
		{Key: "secondaryCatchUpPeriodSecs", Value: stepDownSecs - 1},
	})
}

// disturber carries out the events of a plan.
type disturber struct {
	set      members
	labs     []deployment
	progress io.Writer
}

// run carries out the events, one after the other. When it returns, all members run, and there are no limits.
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
	if e.Action == &stepDown {
		// If there is no primary, or it does not stay one, there is nothing to do.
		if err := d.set.stepDown(ctx); err != nil {
			fmt.Fprintf(d.progress, "    %v\n", err)
		}
		return nil
	}
	if primary, found := d.set.primary(ctx); e.Primary && found {
		e.Member = primary
	}
	if err := d.apply(ctx, e, e.Action.begin, e.Rate); err != nil {
		return err
	}
	_ = clock.Wait(ctx, e.For)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restartPatience)
	defer cancel()
	return d.apply(ctx, e, e.Action.end, 0)
}

// apply disturbs a member, or the front of it of every application, and sets the limits; a rate of 0 stands for none.
func (d *disturber) apply(ctx context.Context, e Event, what string, rate int) error {
	limit := overload.Unlimited()
	if rate > 0 {
		limit = overload.Limit{Enabled: true, RatePerSec: int32(rate), BurstCapacitySecs: 0.1}
	}
	for i, lab := range d.labs {
		if what != "" && (i == 0 || !e.Action.ofMember) {
			if err := lab.Disturb(ctx, what, e.Member); err != nil {
				return err
			}
		}
		for front := range lab.Hosts() {
			var err error
			switch limits := lab.Limits(front); {
			case e.Action.requests > 0:
				err = limits.Requests.SetLimit(limit)
			case e.Action.connections > 0:
				err = limits.Connections.SetLimit(limit)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
