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

// disturb carries out the incidents, one after the other. When it returns, all members run, and there are no limits.
func disturb(ctx context.Context, labs []lab, incidents []incident, start time.Time, progress io.Writer) error {
	for _, e := range incidents {
		if clock.Wait(ctx, time.Until(start.Add(e.At))) != nil {
			return nil
		}
		fmt.Fprintf(progress, "  %v\n", e)
		if primary := labs[0].Primary(ctx); e.Primary && primary >= 0 {
			e.Member = primary
		}
		err := e.apply(ctx, labs, e.Fault.begin, e.Rate)
		if err != nil && e.Fault.begin == fronts.StepDown {
			fmt.Fprintf(progress, "    %v\n", err) // it is no primary, or does not stay one
			continue
		}
		if err == nil {
			_ = clock.Wait(ctx, e.For)
			// It is ended even if the context ends it early.
			ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endPatience)
			err = e.apply(ending, labs, e.Fault.end, 0)
			cancel()
		}
		if err != nil {
			return fmt.Errorf("%v: %w", e, err)
		}
	}
	return nil
}

// apply disturbs a member, or the front of it of every application, and sets the limits; a rate of 0 stands for none.
func (e incident) apply(ctx context.Context, labs []lab, what string, rate int) error {
	limit := func(by int) overload.Limit {
		if by == 0 || rate == 0 {
			return overload.Unlimited()
		}
		return overload.Limit{Enabled: true, RatePerSec: int32(rate), BurstCapacitySecs: 0.1}
	}
	for i, lab := range labs {
		if what != "" && (i == 0 || !e.Fault.ofMember) {
			if err := lab.Disturb(ctx, what, e.Member); err != nil {
				return err
			}
		}
		lab.Limit(limit(e.Fault.requests), limit(e.Fault.connections))
	}
	return nil
}
