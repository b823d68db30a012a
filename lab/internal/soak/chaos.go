package soak

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/answer"
	"mongofork/lab/internal/clock"
	"mongofork/lab/internal/deployment"
	"mongofork/lab/internal/fault"
	"mongofork/lab/internal/topology"
)

const (
	// slowness is a slow front's delay of each request.
	slowness = 100 * time.Millisecond
	// insistence is the pause between two attempts of insist.
	insistence = 50 * time.Millisecond
	// killTime is the time by which commits are held longer than killing the member takes.
	killTime     = 100 * time.Millisecond
	stepDownTime = 2 * time.Second
)

// chaos carries out the events of a plan.
type chaos struct {
	lab     *deployment.Lab
	commits *commitGate
}

// run carries out the events, one after the other. It removes all limits before it returns.
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
	if e.Primary {
		e.Front = c.primary(e.Front)
	}
	switch e.Action {
	case Rejections:
		return c.rejecting(ctx, e)
	case CommitKill:
		c.commits.close(CommitHold + killTime)
		return nil
	case StepDown:
		return c.lab.Cluster().StepDown(stepDownTime)
	case Overload:
		return c.limited(ctx, e, "ingressRequestRateLimiterEnabled", "ingressRequestAdmission")
	case ConnectionLimit:
		// The limit is about connections that are needed again.
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
		return fmt.Errorf("unknown action %q", e.Action)
	}
}

// primary returns the front of the primary, or the given one if there is none.
func (c *chaos) primary(otherwise int) int {
	for front, m := range c.lab.Cluster().Status().Members {
		if m.Role == topology.RolePrimary {
			return front
		}
	}
	return otherwise
}

// limited sets a limiter's rate for the time of the event, on all fronts.
func (c *chaos) limited(ctx context.Context, e Event, enabled, prefix string) error {
	err := c.everywhere(ctx, bson.D{
		{Key: "setParameter", Value: 1},
		{Key: enabled, Value: true}, {Key: prefix + "RatePerSec", Value: int32(e.Rate)},
		{Key: prefix + "BurstCapacitySecs", Value: 0.1}, {Key: prefix + "MaxQueueDepth", Value: int32(0)},
	})
	_ = (clock.System{}).Wait(ctx, e.For)
	// An interrupted run removes its limits, too.
	off := c.everywhere(context.WithoutCancel(ctx), bson.D{{Key: "setParameter", Value: 1}, {Key: enabled, Value: false}})
	if err != nil {
		return err
	}
	return off
}

// rejecting lets all fronts reject some of the requests for the time of the event.
func (c *chaos) rejecting(ctx context.Context, e Event) error {
	err := c.everywhere(ctx, bson.D{
		{Key: "configureFailPoint", Value: "failCommand"}, {Key: "mode", Value: bson.D{{Key: "activationProbability", Value: rejectedShare}}},
		{Key: "data", Value: bson.D{
			{Key: "failCommands", Value: rejectedCommands}, {Key: "errorCode", Value: answer.CodeIngressRequestRateLimit},
			{Key: "errorLabels", Value: bson.A{answer.LabelSystemOverloaded, answer.LabelRetryable, answer.LabelNoWritesPerformed}},
		}},
	})
	_ = (clock.System{}).Wait(ctx, e.For)
	off := c.everywhere(context.WithoutCancel(ctx),
		bson.D{{Key: "configureFailPoint", Value: "failCommand"}, {Key: "mode", Value: "off"}})
	if err != nil {
		return err
	}
	return off
}

// rejectedCommands are the workers' commands.
var rejectedCommands = []string{
	"insert", "update", "findAndModify", "find", "getMore", "aggregate", "commitTransaction",
}

// everywhere runs a command at every front, bypassing the faults of connections.
func (c *chaos) everywhere(ctx context.Context, command bson.D) error {
	for front := range c.lab.Hosts() {
		if err := c.lab.Administer(ctx, front, command); err != nil {
			return fmt.Errorf("%s: %w", command[0].Key, err)
		}
	}
	return nil
}

// insist retries, with pauses, until it succeeds or the context ends. It returns the last error from before the end, because the
// end's own says less.
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
