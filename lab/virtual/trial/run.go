package trial

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/servererror"
	"mongofork/lab/virtual"
)

const (
	// aside is a fraction of a microsecond: what the plan does to servers is at no time at which anything else happens.
	aside    = 300 * time.Nanosecond
	patience = 12 * time.Hour // the virtual time after which a call that still waits is taken to wait for ever
)

// asideOf is that of a fault, by its number, so that no two are at one time.
func asideOf(fault int) time.Duration { return aside + time.Duration(fault)*5*time.Microsecond }

// Run runs a plan in the bubble of the test. What the process draws from crypto/rand, from then on, is the plan's: one trial runs at a
// time.
func Run(t *testing.T, plan Plan) Trace {
	a := newApplication(plan)
	a.run(t)
	return a.trace()
}

func (a *application) run(t *testing.T) {
	servers := virtual.Options{Topology: a.plan.Topology, Nearest: int(a.plan.Seed % 6), Batch: a.plan.Batch}
	if a.plan.Auth != "" {
		servers.Auth = &virtual.Auth{Speculative: a.plan.Seed%2 == 0, Exchange: a.plan.Seed%3 == 0}
	}
	a.cluster = virtual.New(t, servers)
	for i := range 7 {
		a.cluster.Put("db.c", Call{}.Document(i))
	}
	PutFile(a.cluster)
	rand.Reader = &Chance{Seed: a.plan.Seed}
	a.cluster.Intercept(a.intercept)
	if a.plan.isHostile() {
		a.cluster.Tamper(a.tamper)
	}
	client, err := mongo.Connect(a.options())
	if err != nil {
		a.flaw(true, fmt.Sprintf("Connect: %v", err))
		return
	}
	a.client = client
	for i, f := range a.plan.Faults {
		if f.On == "" {
			time.AfterFunc(f.At+asideOf(i), func() { f.Inflict(a.cluster) })
		}
	}
	endless := time.AfterFunc(patience, func() { panic(fmt.Sprintf("it does not end within %v", patience)) })
	for _, c := range a.plan.Calls {
		time.Sleep(c.Pause)
		a.call(c)
	}
	endless.Stop()
	a.leave()
	for _, c := range a.calls {
		if kinds[c.Kind].effect >= inserts && c.Way != "aborts" {
			c.Done = a.done(c)
			missing := func(id int) bool { return a.cluster.Document("db.c", id) == nil }
			c.Lost = c.Done == 0 || slices.ContainsFunc(c.written, missing)
		}
	}
	a.judge()
}

// PutFile puts the file there that calls download.
func PutFile(c *virtual.Cluster) {
	c.Put("db.fs.files", bsondoc.D("_id", "file", "length", int64(3), "chunkSize", int32(2), "filename", "x"))
	for n, data := range []string{"ab", "c"} {
		chunk := bson.Binary{Data: []byte(data)}
		c.Put("db.fs.chunks", bsondoc.D("_id", n, "files_id", "file", "n", int32(n), "data", chunk))
	}
}

// options returns those of the client: what connection strings lack, and what reports to the application.
func (a *application) options() *options.ClientOptions {
	opts := a.cluster.Client(a.plan.Options...)
	if a.plan.Auth != "" {
		opts.SetAuth(virtual.Credential(strings.TrimPrefix(a.plan.Auth, "offered")))
	}
	if a.plan.isHostile() {
		opts.SetServerSelectionTimeout(10 * time.Second)
	}
	if a.plan.isHostile() || a.plan.Has("adaptiveRetries") {
		opts.SetLoggerOptions(options.Logger().SetSink(a).SetComponentLevel(options.LogComponentAll, options.LogLevelDebug))
	}
	opts.SetPoolMonitor(&event.PoolMonitor{Event: a.pool})
	opts.SetServerMonitor(&event.ServerMonitor{
		ServerDescriptionChanged: func(e *event.ServerDescriptionChangedEvent) {
			if from, to := e.PreviousDescription.Kind, e.NewDescription.Kind; from != to {
				a.line(0, true, "server %v: %s to %s", e.Address, from, to)
			}
		},
	})
	return opts.SetMonitor(&event.CommandMonitor{
		Started: a.started,
		Succeeded: func(ctx context.Context, e *event.CommandSucceededEvent) {
			passing := a.finished(ctx, e.CommandFinishedEvent, nil)
			a.line(callOf(ctx), passing, "succeeded %s, %d bytes", e.CommandName, len(e.Reply))
		},
		Failed: func(ctx context.Context, e *event.CommandFailedEvent) {
			passing := a.finished(ctx, e.CommandFinishedEvent, e.Failure)
			a.line(callOf(ctx), passing, "failed %s: %s", e.CommandName, describe(e.Failure))
		},
	})
}

// leave disconnects the client, at a time that is the same for drivers whose calls have not ended together.
func (a *application) leave() {
	const grace = 2 * time.Second          // for what the driver does in the background
	const between = 750 * time.Millisecond // two heartbeats
	now := a.now()
	time.Sleep((now + grace).Truncate(time.Second) + between + asideOf(len(a.plan.Faults)) - now)
	a.line(0, true, "%d connections opened", a.cluster.Connections())
	for handshake := range a.handshakes {
		a.line(0, true, "%s", handshake)
	}
	a.note(func() {
		_, a.unstarted = a.cluster.Transactions()
		a.result.Opened = a.cluster.Connections()
		a.flaw(a.client.NumberSessionsInProgress() > 0, "a session is not ended")
		a.leaving = a.now()
	})
	err := a.client.Disconnect(context.Background())
	a.note(func() {
		a.flaw(a.now() > a.leaving+disconnecting && !a.plan.Has("timeoutMS=9"), "Disconnect takes too long")
	})
	a.finish(0, nil, err)
	a.cluster.SetLink(virtual.Up)
	time.Sleep(time.Minute) // what was under way ends
	a.note(func() { a.flaw(a.cluster.Open() > 0, "a connection is not closed") })
}

// disconnecting is how long Disconnect may take.
const disconnecting = 10*time.Second + 10*time.Millisecond

type callKey struct{}

// callOf returns the number of the call that a context is of.
func callOf(ctx context.Context) int {
	call, _ := ctx.Value(callKey{}).(int)
	return call
}

func (a *application) call(c Call) {
	ctx := context.WithValue(context.Background(), callKey{}, c.ID)
	cancel := context.CancelFunc(func() {})
	if c.Deadline > 0 {
		ctx, cancel = context.WithTimeout(ctx, c.Deadline)
	} else if c.Cancel > 0 {
		ctx, cancel = context.WithCancel(ctx)
		time.AfterFunc(c.Cancel, cancel)
	}
	defer cancel()
	o := a.of(c.ID)
	a.note(func() { o.Call, o.Start = c, a.now() })
	returned := func() { a.note(func() { o.End = cmp.Or(o.End, a.now()) }) }
	result, err := c.Make(ctx, a.client.Database("db").Collection("c"), Hooks{Await: 100 * time.Millisecond, Returned: returned,
		Wrote: func(id int) { a.note(func() { o.written = append(o.written, id) }) },
		In:    func(value any) any { return value }, Out: func(any) {}})
	a.finish(c.ID, result, err)
	returned()
	a.note(func() { o.err = err })
}

// links are the faults that change the network.
var links = map[string]virtual.Link{Silent: virtual.Silent, Refusing: virtual.Refusing, Closing: virtual.Closing,
	Breaking: virtual.Breaking}

// Inflict carries out a fault of servers or the network. If it is to stop all servers, it stops the first.
func (f Fault) Inflict(c *virtual.Cluster) {
	var hosts []int
	host := max(0, f.Host-1) % len(c.Hosts())
	if f.Host > 0 {
		hosts = append(hosts, host)
	}
	over := func() {}
	if link, ok := links[f.What]; ok {
		c.SetLink(link, hosts...)
		over = func() { c.SetLink(virtual.Up, hosts...) }
	}
	switch f.What {
	case Reset:
		c.Reset(hosts...)
	case Stop:
		c.Stop(host)
		over = func() { c.Restart(host) }
	case StepDown:
		c.StepDown(f.For)
	}
	time.AfterFunc(f.For+aside, over)
}

// intercept carries out the faults of commands.
func (a *application) intercept(c virtual.Command, run func() bson.Raw) bson.Raw {
	if a.plan.isHostile() {
		a.note(func() { a.hostile.commands[c.Request] = c.Name })
		return run()
	}
	var failing *Fault
	for i, f := range a.plan.Faults {
		if f.On != c.Name || f.onCommands() && f.Host > 0 && c.Host != a.cluster.Hosts()[f.Host-1] {
			continue
		}
		n := -f.Nth
		a.note(func() {
			if f.Call == 0 || f.Call == a.requests[int64(c.Request)] {
				a.arrived[i]++
				n += a.arrived[i]
			}
		})
		switch {
		case !f.onCommands() && n == 0:
			time.AfterFunc(time.Millisecond+asideOf(i), func() { f.Inflict(a.cluster) })
		case f.onCommands() && failing == nil && n >= 0 && n < f.Times:
			failing = &f
		}
	}
	a.command(c, failing)
	return failing.Reply(c, run)
}

// Reply answers a command that meets the fault, if there is one.
func (f *Fault) Reply(c virtual.Command, run func() bson.Raw) bson.Raw {
	if f == nil {
		return run()
	}
	switch f.What {
	case Error:
		return virtual.Fail(c, f.Code)
	case Concern:
		return virtual.WithConcern(c, run(), f.Code)
	case Reject:
		return map[int32]*servererror.Error{462: servererror.RequestRate, 461: servererror.RequestRateBefore826,
			463: servererror.OperationRate, 473: servererror.Interrupted}[f.Code].Reply()
	case Lose:
		run()
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
	case Lack:
		reply := run()
		if cursor, ok := reply.Lookup("cursor").DocumentOK(); ok {
			cursor = bsondoc.Rebuild(cursor, []string{"postBatchResumeToken"}, nil)
			reply = bsondoc.With(reply, bson.E{Key: "cursor", Value: cursor})
		}
		return reply
	}
	return nil
}

// done returns how often the call's document was increased, or inserted.
func (a *application) done(c *tally) int64 {
	doc := a.cluster.Document("db.c", c.id(0))
	if doc != nil && kinds[c.Kind].effect == inserts {
		return 1
	}
	n, _ := doc.Lookup("n").AsInt64OK()
	return n
}

// Chance is where drivers draw random numbers: a number depends on the plan's seed, the time, what draws, and how often at this instant.
// So it is the same in all runs, and in both drivers, however often either has drawn before.
type Chance struct {
	Seed uint64

	mu    sync.Mutex
	at    time.Time
	drawn map[string]uint64
}

// Draw returns a number for what draws.
func (c *Chance) Draw(what string) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); !now.Equal(c.at) {
		c.at, c.drawn = now, map[string]uint64{}
	}
	c.drawn[what]++
	hash := sha256.Sum256(fmt.Append(nil, c.Seed, c.at.UnixNano(), c.drawn[what], what))
	return binary.BigEndian.Uint64(hash[:])
}

// Read implements io.Reader, for what reads crypto/rand.
func (c *Chance) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(c.Draw("bytes"))
	}
	return len(p), nil
}
