package soak

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/lab/internal/clock"
	"mongofork/lab/internal/fault"
	"mongofork/lab/internal/lab"
)

const (
	// slowness is how long a slow front takes for each request.
	slowness = 100 * time.Millisecond
	// adminPatience is how long setting a parameter may take: the limit that it ends may hold it up.
	adminPatience = 20 * time.Second
	adminPause    = 50 * time.Millisecond
	stepDownTime  = 2 * time.Second
)

// chaos makes the events of a plan happen.
type chaos struct {
	lab *lab.Lab
	// admins set the parameters of a front each, as an administrator does, on a server as on the lab.
	admins []*mongo.Client
}

func newChaos(l *lab.Lab) (*chaos, error) {
	c := &chaos{lab: l}
	for _, host := range l.Hosts() {
		client, err := mongo.Connect(options.Client().ApplyURI("mongodb://" + host + "/?directConnection=true&maxPoolSize=1"))
		if err != nil {
			return nil, err
		}
		c.admins = append(c.admins, client)
	}
	return c, nil
}

func (c *chaos) close(ctx context.Context) {
	for _, admin := range c.admins {
		_ = admin.Disconnect(ctx)
	}
}

// run makes the events happen, one after the other. What was limited is not limited any more when it returns.
func (c *chaos) run(ctx context.Context, events []Event, progress func(Event)) error {
	start := time.Now()
	for _, e := range events {
		if (clock.System{}).Wait(ctx, e.At-time.Since(start)) != nil {
			return nil
		}
		progress(e)
		if err := c.happen(ctx, e); err != nil {
			return fmt.Errorf("%v: %w", e, err)
		}
	}
	return nil
}

// happen starts an event, and ends it after its time.
func (c *chaos) happen(ctx context.Context, e Event) error {
	switch e.Action {
	case StepDown:
		return c.lab.Cluster().StepDown(stepDownTime)
	case Overload:
		return c.limited(ctx, e, "ingressRequestRateLimiterEnabled", "ingressRequestAdmission")
	case ConnectionLimit:
		// Connections that are needed again are what the limit is about.
		if err := c.lab.SetFault(e.Front, fault.Fault{Kind: fault.Reset}, time.Millisecond); err != nil {
			return err
		}
		return c.limited(ctx, e, "ingressConnectionEstablishmentRateLimiterEnabled", "ingressConnectionEstablishment")
	case Slow:
		return c.lab.SetFault(e.Front, fault.Fault{Kind: fault.Slow, Delay: slowness}, e.For)
	case Reset:
		return c.lab.SetFault(e.Front, fault.Fault{Kind: fault.Reset}, e.For)
	case Silent:
		return c.lab.SetFault(e.Front, fault.Fault{Kind: fault.Silent}, e.For)
	default:
		return fmt.Errorf("nobody knows how to do %q", e.Action)
	}
}

// limited sets a limiter's rate for the time of the event, on all fronts.
func (c *chaos) limited(ctx context.Context, e Event, enabled, prefix string) error {
	err := c.setParameter(ctx, bson.D{
		{Key: enabled, Value: true}, {Key: prefix + "RatePerSec", Value: int32(e.Rate)},
		{Key: prefix + "BurstCapacitySecs", Value: 0.1}, {Key: prefix + "MaxQueueDepth", Value: int32(0)},
	})
	_ = (clock.System{}).Wait(ctx, e.For)
	// A run that is interrupted leaves no limit behind either.
	off := c.setParameter(context.WithoutCancel(ctx), bson.D{{Key: enabled, Value: false}})
	if err != nil {
		return err
	}
	return off
}

// setParameter sets parameters of every front. An administrator insists: what the chaos does to connections, it does to
// these as well, as errors of the network and as pools that were cleared.
func (c *chaos) setParameter(ctx context.Context, parameters bson.D) error {
	ctx, cancel := context.WithTimeout(ctx, adminPatience)
	defer cancel()
	command := append(bson.D{{Key: "setParameter", Value: 1}}, parameters...)
	for _, admin := range c.admins {
		set := func() error { return admin.Database("admin").RunCommand(ctx, command).Err() }
		if err := insist(ctx, adminPause, set); err != nil {
			return fmt.Errorf("set a parameter within %v: %w", adminPatience, err)
		}
	}
	return nil
}

// insist does something, with pauses, until it succeeds or the context ends. It returns the last error from before the
// end, for the error of the end says less.
func insist(ctx context.Context, pause time.Duration, do func() error) error {
	err := do()
	for err != nil && (clock.System{}).Wait(ctx, pause) == nil {
		again := do()
		if again != nil && ctx.Err() != nil {
			return err
		}
		err = again
	}
	return err
}
