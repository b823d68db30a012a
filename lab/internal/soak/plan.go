package soak

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"mongofork/lab/internal/clock"
	"mongofork/lab/internal/fault"
	"mongofork/lab/internal/overload"
	"mongofork/lab/internal/realset"
	"mongofork/lab/internal/topology"
)

const (
	// recovery is the time that members have to agree on a primary, or to come back, before the next event.
	recovery = 2 * time.Second
	// commitHold is the time for which commits are held before the primary is killed, and killTime what they are held longer than
	// killing the member takes.
	commitHold = 300 * time.Millisecond
	killTime   = 100 * time.Millisecond

	stepDownTime = 3 * time.Second
	// restartPatience bounds the restart of a member.
	restartPatience = 3 * time.Minute
)

// Action is a fault of a deployment.
type Action struct {
	name string
	// least and most bound its time; without, it ends by itself.
	least, most time.Duration
	// primary is how likely it happens to the primary, 1 for always.
	primary float64
	// rate is how many requests or connections a second it leaves; up to twice as many.
	rate int
	// ofMember is whether it happens to a member, which needs time to come back, and not to its front.
	ofMember   bool
	begin, end act
}

// act does something to a member or its front.
type act func(ctx context.Context, d *disturber, member int, e Event) error

var (
	kill = Action{name: "kill", least: 1500 * time.Millisecond, most: 5 * time.Second, primary: 0.7, ofMember: true,
		begin: happens(realset.Kill), end: happens(realset.Restart)}
	// commitKill is kill of the primary while commits are held on their way to it, and replies on their way back.
	commitKill = Action{name: "kill at commits", least: 1500 * time.Millisecond, most: 5 * time.Second, primary: 1, ofMember: true,
		begin: happens(realset.Kill), end: happens(realset.Restart)}
	pause = Action{name: "pause", least: 1500 * time.Millisecond, most: 5 * time.Second, primary: 0.7, ofMember: true,
		begin: happens(realset.Pause), end: happens(realset.Resume)}
	// isolate cuts a member off from the others; clients reach all.
	isolate = Action{name: "isolate", least: 1500 * time.Millisecond, most: 5 * time.Second, primary: 0.7, ofMember: true,
		begin: happens(realset.Partition), end: happens(realset.Heal)}
	stepDown = Action{name: "step-down", ofMember: true, begin: stepsDown}
	reset    = Action{name: "reset", least: 100 * time.Millisecond, most: time.Second, primary: 0.5,
		begin: faulty(fault.Reset, 0), end: faulty(fault.Off, 0)}
	// silent takes so long that clients find out, and look elsewhere.
	silent = Action{name: "silent", least: 500 * time.Millisecond, most: 6 * time.Second, primary: 0.5,
		begin: faulty(fault.Silent, 0), end: faulty(fault.Off, 0)}
	// overloaded and refusing limit requests and connections at all fronts.
	overloaded = Action{name: "overload", least: time.Second, most: 3 * time.Second, rate: 50,
		begin: limited(requests), end: limited(requests)}
	refusing = Action{name: "connection limit", least: 500 * time.Millisecond, most: 1500 * time.Millisecond, rate: 5,
		begin: func(ctx context.Context, d *disturber, member int, e Event) error {
			// The limit is about connections that are needed again.
			if err := faulty(fault.Reset, time.Millisecond)(ctx, d, member, e); err != nil {
				return err
			}
			return limited(connections)(ctx, d, member, e)
		}, end: limited(connections)}

	actions = []*Action{&kill, &overloaded, &isolate, &stepDown, &commitKill, &silent, &refusing, &pause, &reset}
)

// Event is an action at a time.
type Event struct {
	At, For time.Duration // since the start, and how long
	Action  *Action
	Member  int  // which member, or its front
	Primary bool // it happens to the primary at that time, or to Member if there is none
	Rate    int  // of a limit
}

func (e Event) String() string {
	who := fmt.Sprintf("member %d", e.Member)
	if e.Primary {
		who = "the primary"
	}
	text := fmt.Sprintf("%v: %s, %s, for %v", e.At, e.Action.name, who, e.For)
	if e.Rate > 0 {
		text += fmt.Sprintf(", all fronts: at most %d a second", e.Rate)
	}
	return text
}

// Plan returns what happens during a run. The same seed, duration and number of members give the same plan.
//
// Each action happens once before any does again, so that short runs see all of them. The first and last tenth of the
// run are quiet: clients connect in the one, and what is under way ends in the other. So is the time that a member needs to come
// back.
func Plan(seed uint64, duration time.Duration, members int) []Event {
	random := rand.New(rand.NewPCG(seed, uint64(members)))
	between := func(low, high time.Duration) time.Duration {
		return (low + time.Duration(random.Float64()*float64(high-low))).Round(time.Millisecond)
	}
	var events []Event
	var bag []*Action
	end := duration - duration/10
	for at := duration / 10; ; at += between(500*time.Millisecond, 1500*time.Millisecond) {
		if len(bag) == 0 {
			bag = slices.Clone(actions)
			random.Shuffle(len(bag), func(i, j int) { bag[i], bag[j] = bag[j], bag[i] })
		}
		a := bag[0]
		bag = bag[1:]
		e := Event{At: at, For: between(a.least, a.most), Action: a, Member: random.IntN(members),
			Primary: random.Float64() < a.primary}
		if a.rate > 0 {
			e.Rate = a.rate + random.IntN(a.rate)
		}
		if e.At+e.For > end {
			return events
		}
		events = append(events, e)
		if at += e.For; a.ofMember {
			at += recovery
		}
	}
}

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
	if e.Action == &commitKill {
		for _, s := range d.stations {
			s.commits.close(commitHold + killTime)
		}
		_ = clock.Wait(ctx, commitHold)
		e.For -= commitHold
	}
	member := e.Member
	if primary := slices.Index(d.set.Roles(), topology.RolePrimary); e.Primary && primary >= 0 {
		member = primary
	}
	if err := e.Action.begin(ctx, d, member, e); err != nil || e.Action.end == nil {
		return err
	}
	_ = clock.Wait(ctx, e.For)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restartPatience)
	defer cancel()
	e.Rate = 0
	return e.Action.end(ctx, d, member, e)
}

// happens does something to a member.
func happens(what string) act {
	return func(ctx context.Context, d *disturber, member int, _ Event) error {
		return d.set.Disturb(ctx, what, member, 0)
	}
}

// faulty sets a fault of a front at every station.
func faulty(kind fault.Kind, after time.Duration) act {
	return func(_ context.Context, d *disturber, front int, _ Event) error {
		for _, s := range d.stations {
			if err := s.lab.SetFault(front, kind, after); err != nil {
				return err
			}
		}
		return nil
	}
}

func requests(f *overload.Front) *overload.Limiter    { return f.Requests }
func connections(f *overload.Front) *overload.Limiter { return f.Connections }

// limited sets the event's rate at all fronts; 0 stands for no limit.
func limited(which func(*overload.Front) *overload.Limiter) act {
	return func(_ context.Context, d *disturber, _ int, e Event) error {
		limit := overload.Unlimited()
		if e.Rate > 0 {
			limit = overload.Limit{Enabled: true, RatePerSec: int32(e.Rate), BurstCapacitySecs: 0.1}
		}
		for _, s := range d.stations {
			for front := range s.lab.Hosts() {
				if err := which(s.lab.Limits(front)).SetLimit(limit); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// stepsDown makes the primary step down. If there is none, or it does not stay one, there is nothing to do.
func stepsDown(_ context.Context, d *disturber, _ int, _ Event) error {
	if err := d.set.StepDown(stepDownTime); err != nil {
		fmt.Fprintf(d.progress, "    %v\n", err)
	}
	return nil
}
