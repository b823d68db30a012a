package soak

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"mongofork/lab/internal/clock"
	"mongofork/lab/internal/overload"
)

const (
	// recovery is how long members have to agree on a primary, or to come back, before something else happens.
	recovery = 2 * time.Second
	// endPatience bounds the end of a fault, such as the restart of a member.
	endPatience = 3 * time.Minute
)

// lab is what an application sees, a fronts.Lab. All of them have the same members behind them.
type lab interface {
	Disturb(ctx context.Context, what string, member int) error
	Limit(requests, connections overload.Limit)
	Primary(ctx context.Context) int
}

// fault is what can happen to a deployment.
type fault struct {
	name        string
	begin, end  string        // what Disturb does to the member or its front, beside a limit
	least, most time.Duration // they bound its time; without, it ends by itself
	primary     float64       // how likely it happens to the primary
	// requests and connections are how many of these a second it leaves to each front; up to twice as many.
	requests, connections float64
	ofMember              bool // whether it happens to a member, which needs time to come back, and not to its front
}

var faults = []fault{
	{name: "kill", begin: "kill", end: "restart", least: 1500 * time.Millisecond, most: 5 * time.Second,
		primary: 0.7, ofMember: true},
	// On a slow machine, too, the applications want more.
	{name: "overload", least: time.Second, most: 3 * time.Second, requests: 20},
	// It takes so long that the others elect another primary.
	{name: "pause", begin: "pause", end: "resume", least: 1500 * time.Millisecond, most: 5 * time.Second,
		primary: 0.7, ofMember: true},
	{name: "step-down", begin: "stepDown", primary: 1, ofMember: true},
	// It takes so long that clients find out, and look elsewhere.
	{name: "silent", begin: "silent", end: "off", least: 500 * time.Millisecond, most: 6 * time.Second, primary: 0.5},
	// It resets connections, too: the limit is about those that are needed again.
	{name: "connection limit", begin: "reset", least: 500 * time.Millisecond, most: 1500 * time.Millisecond,
		primary: 0.5, connections: 5},
}

// plan is what happens in a run. The seed decides the faults' order, times and members.
type plan struct {
	seed     uint64
	faults   []fault
	start    time.Time
	duration time.Duration
}

// disturb carries out the plan. When it returns, all members run, and there are no limits.
//
// Each fault happens once before any fault happens again, so that short runs see all of them. Nothing happens in the first tenth of the
// run, in which clients connect, and in the last tenth, in which operations end. Nothing happens either while a member comes back.
func (p plan) disturb(ctx context.Context, labs []lab, progress io.Writer) error {
	random := rand.New(rand.NewPCG(p.seed, count))
	between := func(low, high time.Duration) time.Duration {
		return (low + time.Duration(random.Float64()*float64(high-low))).Round(time.Millisecond)
	}
	at := p.duration / 10
	for {
		for _, i := range random.Perm(len(p.faults)) {
			f := p.faults[i]
			length, member := between(f.least, f.most), random.IntN(count)
			atPrimary, more := random.Float64() < f.primary, 1+random.Float64()
			if at+length > p.duration-p.duration/10 || clock.Wait(ctx, time.Until(p.start.Add(at))) != nil {
				return nil
			}
			if primary := labs[0].Primary(ctx); atPrimary && primary >= 0 {
				member = primary
			}
			f.requests, f.connections = f.requests*more, f.connections*more
			who := fmt.Sprintf("member %d", member)
			if limit := f.requests + f.connections; limit > 0 {
				who = fmt.Sprintf("all fronts at most %.0f a second", limit)
			}
			fmt.Fprintf(progress, "  %v: %s, %s, for %v\n", at, f.name, who, length)
			if err := f.happen(ctx, labs, member, length); err != nil {
				return fmt.Errorf("%s, %s: %w", f.name, who, err)
			}
			if at += length + between(500*time.Millisecond, 1500*time.Millisecond); f.ofMember {
				at += recovery
			}
		}
	}
}

// happen begins the fault and ends it after some time, or early if the context ends.
func (f fault) happen(ctx context.Context, labs []lab, member int, length time.Duration) error {
	if err := f.apply(ctx, labs, member); err != nil {
		if f.begin == "stepDown" {
			return nil // the member is no primary, or does not stay one
		}
		return err
	}
	_ = clock.Wait(ctx, length)
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endPatience)
	defer cancel()
	return fault{begin: f.end, ofMember: f.ofMember}.apply(ending, labs, member)
}

// apply begins the fault at a member, or at the front of it of every application, and sets the limits of all fronts.
func (f fault) apply(ctx context.Context, labs []lab, member int) error {
	limit := func(perSecond float64) overload.Limit {
		if perSecond == 0 {
			return overload.Unlimited()
		}
		return overload.Limit{Enabled: true, RatePerSec: int32(perSecond), BurstCapacitySecs: 0.1}
	}
	for i, lab := range labs {
		if f.begin != "" && (i == 0 || !f.ofMember) {
			if err := lab.Disturb(ctx, f.begin, member); err != nil {
				return err
			}
		}
		lab.Limit(limit(f.requests), limit(f.connections))
	}
	return nil
}
