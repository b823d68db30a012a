package soak

import (
	"context"
	"fmt"
	"io"
	"time"

	"mongofork/lab/internal/clock"
	"mongofork/lab/internal/fronts"
	"mongofork/lab/internal/overload"
)

// endPatience bounds the end of an incident, such as the restart of a member.
const endPatience = 3 * time.Minute

// lab is what an application sees, a fronts.Lab. All of them have the same members behind them.
type lab interface {
	Disturb(ctx context.Context, what string, member int) error
	Limit(requests, connections overload.Limit)
	Primary(ctx context.Context) int
}

// disturber carries out the incidents of a plan.
type disturber struct {
	labs     []lab
	progress io.Writer
}

// run carries out the incidents, one after the other. When it returns, all members run, and there are no limits.
func (d *disturber) run(ctx context.Context, incidents []incident, start time.Time) error {
	for _, e := range incidents {
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

// happen starts an incident, and ends it after its time or with the context.
func (d *disturber) happen(ctx context.Context, e incident) error {
	if primary := d.labs[0].Primary(ctx); e.Primary && primary >= 0 {
		e.Member = primary
	}
	err := d.apply(ctx, e, e.Fault.begin, e.Rate)
	if err != nil && e.Fault.begin == fronts.StepDown {
		fmt.Fprintf(d.progress, "    %v\n", err) // it is no primary, or does not stay one
		return nil
	}
	if err != nil {
		return err
	}
	_ = clock.Wait(ctx, e.For)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endPatience)
	defer cancel()
	return d.apply(ctx, e, e.Fault.end, 0)
}

// apply disturbs a member, or the front of it of every application, and sets the limits; a rate of 0 stands for none.
func (d *disturber) apply(ctx context.Context, e incident, what string, rate int) error {
	limit := func(by int) overload.Limit {
		if by == 0 || rate == 0 {
			return overload.Unlimited()
		}
		return overload.Limit{Enabled: true, RatePerSec: int32(rate), BurstCapacitySecs: 0.1}
	}
	for i, lab := range d.labs {
		if what != "" && (i == 0 || !e.Fault.ofMember) {
			if err := lab.Disturb(ctx, what, e.Member); err != nil {
				return err
			}
		}
		lab.Limit(limit(e.Fault.requests), limit(e.Fault.connections))
	}
	return nil
}
