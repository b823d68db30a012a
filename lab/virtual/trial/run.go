package trial

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"mongofork/lab/internal/servererror"
	"mongofork/lab/virtual"
)

// application is what a plan runs.
type application struct {
	*recorder
	plan    Plan
	cluster *virtual.Cluster
	client  *mongo.Client
	coll    *mongo.Collection

	arrived map[int]int // commands that a fault concerned, by its number
}

// aside is a fraction of a microsecond: what the plan does to servers is at no time at which anything else happens.
const aside = 300 * time.Nanosecond

// asideOf is that of a fault, by its number, so that no two are at one time.
func asideOf(fault int) time.Duration { return aside + time.Duration(fault)*5*time.Microsecond }

// patience is the virtual time after which a call that still waits is taken to wait for ever.
const patience = 12 * time.Hour

// Run runs a plan in the bubble of the test, and records the lines if wanted. With another salt, drivers draw other numbers. What the
// process draws from crypto/rand, from then on, is the plan's: one trial runs at a time.
func Run(t *testing.T, plan Plan, salt uint64, lines bool) Trace {
	cluster := virtual.New(t, plan.servers())
	chance := newChance(plan.Seed + salt<<32)
	rand.Reader = chance
	for i := range 7 {
		cluster.Put("db.c", bson.D{{Key: "_id", Value: i}, {Key: "call", Value: 0}})
	}
	a := &application{plan: plan, cluster: cluster, arrived: map[int]int{}, recorder: newRecorder(lines, len(plan.Workers()) < 2)}
	a.chance, a.recorder.react, a.yields = chance, a.react, plan.Monitor.Yields
	cluster.Intercept(a.intercept)
	client, err := mongo.Connect(a.watch(plan.client(cluster.Client(plan.Options...)), plan.Has("adaptiveRetries")))
	if err != nil {
		return Trace{Digest: err.Error()}
	}
	a.client, a.coll = client, client.Database("db").Collection("c")
	for i, f := range plan.Faults {
		if f.On == "" {
			time.AfterFunc(f.At+asideOf(i), func() { a.inflict(f) })
		} else if !f.onCommands() {
			a.arrived[i] = 0
		}
	}
	endless := time.AfterFunc(patience, func() { panic(fmt.Sprintf("it does not end within %v", patience)) })
	a.work()
	endless.Stop()
	a.leave()
	return a.trace()
}

// leave disconnects the client, at a time that is the same for drivers whose calls have not ended together.
func (a *application) leave() {
	const grace = 2 * time.Second          // for what the driver does in the background
	const between = 750 * time.Millisecond // two heartbeats
	now := a.now()
	time.Sleep((now + grace).Truncate(time.Second) + between + asideOf(len(a.plan.Faults)) - now)
	a.note(func() { a.result.Unfinished, a.result.Unstarted = a.cluster.Transactions() })
	mark := asideMark // how many are opened anew is by chance
	if len(a.plan.Faults) == 0 && !a.plan.Has("minPoolSize") {
		mark = ""
	}
	a.line(0, "%s%d connections opened", mark, a.cluster.Connections())
	for handshake := range a.handshakes {
		a.line(0, "%s", handshake)
	}
	a.note(func() { a.leaving = true })
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	a.ended(0, nil, a.client.Disconnect(ctx))
	a.cluster.SetLink(virtual.Up)
}

// work makes the calls.
func (a *application) work() {
	workers := map[int][]Call{}
	for _, c := range a.plan.Calls {
		workers[c.Worker] = append(workers[c.Worker], c)
	}
	var working sync.WaitGroup
	for i, worker := range slices.Sorted(maps.Keys(workers)) {
		calls := workers[worker]
		working.Go(func() {
			a.chance.enter(i + 1)
			for _, c := range calls {
				time.Sleep(c.Pause)
				a.call(c)
			}
		})
	}
	working.Wait()
}

type callKey struct{}

// callOf returns the call that a context is of.
func callOf(ctx context.Context) Call {
	call, _ := ctx.Value(callKey{}).(Call)
	return call
}

func (a *application) call(c Call) {
	a.note(func() { a.current[a.chance.current()] = c.ID })
	ctx := context.WithValue(context.Background(), callKey{}, c)
	cancel := context.CancelFunc(func() {})
	if c.Deadline > 0 {
		ctx, cancel = context.WithTimeout(ctx, c.Deadline)
	} else if c.Cancel > 0 {
		ctx, cancel = context.WithCancel(ctx)
		time.AfterFunc(c.Cancel, cancel)
	}
	defer cancel()
	start := a.now()
	result, err := a.caught(ctx, c)
	o := Outcome{Call: c, Start: start, End: a.now()}
	if err != nil {
		o.Error, o.Panicked = masked(describe(err)), errors.Is(err, errPanic)
	}
	a.ended(c.ID, result, err)
	a.note(func() {
		o.End = cmp.Or(a.of(c.ID).returned, o.End)
		a.result.Outcomes = append(a.result.Outcomes, o)
	})
}

// links are the faults that change the network.
var links = map[string]virtual.Link{Silent: virtual.Silent, Refusing: virtual.Refusing, Closing: virtual.Closing,
	Breaking: virtual.Breaking, Away: virtual.Closing}

// inflict carries out a fault of servers or the network.
func (a *application) inflict(f Fault) {
	a.line(0, "fault %s", f.What)
	var hosts []int
	if f.Host > 0 {
		hosts = append(hosts, (f.Host-1)%len(a.cluster.Hosts()))
	}
	over := func() {}
	if link, ok := links[f.What]; ok {
		a.cluster.SetLink(link, hosts...)
		over = func() { a.cluster.SetLink(virtual.Up, hosts...) }
	}
	switch f.What {
	case Reset, Away:
		a.cluster.Reset(hosts...)
	case Stop:
		a.cluster.Stop(0)
		over = func() { a.cluster.Restart(0) }
	case StepDown:
		a.cluster.StepDown(f.For)
	}
	time.AfterFunc(f.For+aside, over)
}

// intercept carries out the faults of commands.
func (a *application) intercept(c virtual.Command, run func() bson.Raw) bson.Raw {
	a.command(c)
	var failing *Fault
	for i, f := range a.plan.Faults {
		if f.On != c.Name || f.onCommands() && f.Host > 0 && c.Host != a.cluster.Hosts()[f.Host-1] {
			continue
		}
		n := -f.Nth
		a.note(func() {
			a.arrived[i]++
			n += a.arrived[i]
		})
		switch {
		case !f.onCommands() && n == 0:
			time.AfterFunc(time.Millisecond+asideOf(i), func() { a.inflict(f) })
		case f.onCommands() && failing == nil && n >= 0 && n < f.Times && n%max(1, f.Every) == 0:
			failing = &f
		}
	}
	if failing != nil {
		return a.fail(*failing, c, run)
	}
	return run()
}

func (a *application) fail(f Fault, c virtual.Command, run func() bson.Raw) bson.Raw {
	switch f.What {
	case Error:
		return virtual.Fail(c, f.Code)
	case Concern:
		return virtual.WithConcern(c, run(), f.Code)
	case Reject:
		rejection := map[int32]*servererror.Error{
			462: servererror.RequestRate, 461: servererror.RequestRateBefore826, 463: servererror.OperationRate,
			interrupted: servererror.Interrupted,
		}[f.Code]
		return rejection.Reply()
	case Lose:
		run()
		return nil
	case Drop:
		time.AfterFunc(time.Millisecond+aside, func() { _ = c.Conn.Close() })
		return run()
	case Slow:
		time.Sleep(f.For)
		return run()
	case Abort:
		c.Reset()
	case Tear:
		_, _ = c.Conn.Write([]byte{100, 0, 0, 0, 1, 0, 0, 0}) // some bytes of a reply
	case Lack, Huge, Labels:
		return altered(f, run())
	}
	return nil
}

// trace returns what has been recorded.
func (a *application) trace() Trace {
	t := a.recorder.trace()
	t.Opened, t.Limit = a.cluster.Connections(), a.plan.limit()
	t.Untouched = !offers("AdaptiveThrottling")
	if t.Backoff = 100 * time.Millisecond; newest() {
		t.Backoff *= 2
	}
	t.account(a.plan.Has("w=0"), a.done, a.isThere)
	return t
}

// account notes which calls the servers have lost, or carried out twice. done returns how often they did what the call asked for,
// isThere whether they have a document.
func (t *Trace) account(unacknowledged bool, done func(Call) int64, isThere func(id int) bool) {
	for i, o := range t.Outcomes {
		if kinds[o.Kind].effect < inserts {
			continue
		}
		n := done(o.Call)
		t.Outcomes[i].Done = n > 0
		switch {
		case n > 1:
			t.Twice = append(t.Twice, o.ID)
		case unacknowledged:
		case o.OK() && (n == 0 || slices.ContainsFunc(o.written, func(id int) bool { return !isThere(id) })):
			t.Lost = append(t.Lost, o.ID)
		}
	}
}

// isThere reports whether the servers have a document.
func (a *application) isThere(id int) bool { return a.cluster.Document("db.c", id) != nil }

// done returns how often the call's document was increased, or inserted.
func (a *application) done(c Call) int64 {
	doc := a.cluster.Document("db.c", c.id(0))
	if doc != nil && kinds[c.Kind].effect == inserts {
		return 1
	}
	n, _ := doc.Lookup("n").AsInt64OK()
	return n
}
