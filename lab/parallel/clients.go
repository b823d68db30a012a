package parallel

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/xoptions"
)

// application is a client with what it keeps.
type application struct {
	*mongo.Client
	number  int32
	run     *run
	servers *servers
	leaving atomic.Bool // it is disconnected
	// topology, unless nil, is the client's, with which the application selects servers itself.
	topology *topology.Topology
	kept     shelf // by monitors in the background

	mu       sync.Mutex
	busy     map[string]int64 // the running command of each session
	out      map[string]int   // connections checked out, by host
	cleared  map[string]int   // how often pools were cleared, by host
	readied  map[string]int   // and became ready again
	monitors bool
}

// variants are the options of clients.
var variants = []struct {
	uri                 string
	monitors, selectors bool
}{
	{uri: ""},
	{uri: "", monitors: true},
	{uri: "adaptiveThrottling=true&compressors=snappy"},
	{uri: "adaptiveRetries=true", selectors: true},
	{uri: "adaptiveThrottling=true&adaptiveRetries=true&minPoolSize=2", monitors: true},
	{uri: "retryReads=false&retryWrites=false&maxPoolSize=3&compressors=zlib"},
}

// heartbeat is the shortest interval that the specification permits.
const heartbeat = 500 * time.Millisecond

// connect starts a client.
func connect(r *run, s *servers, number int) (*application, error) {
	v := variants[number%len(variants)]
	a := &application{
		number: int32(number + 1), run: r, servers: s, monitors: v.monitors, kept: shelf{run: r},
		busy: map[string]int64{}, out: map[string]int{}, cleared: map[string]int{}, readied: map[string]int{},
	}
	opts := s.cluster.Client(v.uri).SetHeartbeatInterval(s.kind.interval()).SetLocalThreshold(time.Hour).
		SetServerSelectionTimeout(10 * time.Second).SetReadPreference(readpref.Nearest())
	opts.SetMonitor(&event.CommandMonitor{Started: a.startedOnly})
	if v.monitors {
		a.monitor(opts)
	}
	if v.selectors {
		cfg, err := topology.NewConfig(opts, nil)
		if err != nil {
			return nil, err
		}
		if a.topology, err = topology.New(cfg); err != nil {
			return nil, err
		}
		if err := xoptions.SetInternalClientOptions(opts, "deployment", a.topology); err != nil {
			return nil, err
		}
	}
	list := make([]*options.ClientOptions, 2)
	list[0] = opts
	client, err := mongo.Connect(list[:1]...)
	if a.Client = client; list[1] != nil {
		r.finding("handed in", "the driver wrote behind the end of the slice of options that Connect got")
	}
	return a, err
}

// startedKey is the key of what a context's call wants to know.
type startedKey struct{}

func (a *application) startedOnly(ctx context.Context, _ *event.CommandStartedEvent) {
	if c, ok := ctx.Value(startedKey{}).(*call); ok && c.started != nil {
		c.started()
	}
}

// monitor sets all monitors that the driver has. Each keeps all that it gets.
func (a *application) monitor(opts *options.ClientOptions) {
	opts.SetMonitor(&event.CommandMonitor{
		Started: func(ctx context.Context, e *event.CommandStartedEvent) {
			a.started(ctx, e)
			a.startedOnly(ctx, e)
		},
		Succeeded: func(ctx context.Context, e *event.CommandSucceededEvent) {
			a.finished(ctx, e.RequestID, e.Reply)
			a.keep(ctx, "the event of a command that succeeded", e, false)
		},
		Failed: func(ctx context.Context, e *event.CommandFailedEvent) {
			a.finished(ctx, e.RequestID, nil)
			a.keep(ctx, "the event of a command that failed", e, true)
		},
	})
	opts.SetPoolMonitor(&event.PoolMonitor{Event: func(e *event.PoolEvent) {
		a.pool(e)
		a.kept.keep("an event of a pool", e, true)
	}})
	opts.SetServerMonitor(&event.ServerMonitor{
		ServerDescriptionChanged: func(e *event.ServerDescriptionChangedEvent) { a.kept.keep("the event of a server", e, true) },
		TopologyDescriptionChanged: func(e *event.TopologyDescriptionChangedEvent) {
			a.kept.keep("the event of a topology", e, true)
		},
		ServerHeartbeatSucceeded: func(e *event.ServerHeartbeatSucceededEvent) { a.kept.keep("the event of a heartbeat", e, true) },
		ServerHeartbeatFailed:    func(e *event.ServerHeartbeatFailedEvent) { a.kept.keep("the event of a heartbeat", e, true) },
	})
	if set := reflect.ValueOf(opts).MethodByName("SetRetryMonitor"); set.IsValid() { // the fork's
		m := reflect.New(set.Type().In(0).Elem())
		for i := range m.Elem().NumField() {
			field := m.Elem().Field(i)
			field.Set(reflect.MakeFunc(field.Type(), func(args []reflect.Value) []reflect.Value {
				a.kept.keep("the event of a retry", args[len(args)-1].Interface(), true)
				return nil
			}))
		}
		set.Call([]reflect.Value{m})
	}
}

// keep keeps an event of a call with the goroutine that makes the call.
func (a *application) keep(ctx context.Context, what string, value any, room bool) {
	if c, ok := ctx.Value(startedKey{}).(*call); ok {
		c.shelf.keep(what, value, room)
		return
	}
	a.kept.keep(what, value, room)
}

// started notes the session of a command, which no other may use meanwhile.
func (a *application) started(ctx context.Context, e *event.CommandStartedEvent) {
	a.keep(ctx, "the event of a command that starts", e, true)
	id, ok := e.Command.Lookup("lsid").DocumentOK()
	if !ok {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if other := a.busy[string(id)]; other != 0 && other != e.RequestID {
		a.run.finding("session", "two operations use one session at the same time: %s has number %d, and command %d has not ended",
			e.CommandName, e.RequestID, other)
	}
	a.busy[string(id)] = e.RequestID
}

func (a *application) finished(ctx context.Context, request int64, reply bson.Raw) {
	a.mu.Lock()
	for id, busy := range a.busy {
		if busy == request {
			delete(a.busy, id)
		}
	}
	a.mu.Unlock()
	c, ok := ctx.Value(startedKey{}).(*call)
	if n, has := reply.Lookup("nonce").Int32OK(); ok && has && n != 0 && n != c.nonce {
		a.run.finding("reply", "the event of a command of operation %d has the reply to operation %d", c.nonce, n)
	}
}

// pool counts the events of pools.
func (a *application) pool(e *event.PoolEvent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch e.Type {
	case event.ConnectionCheckedOut:
		a.out[e.Address]++
	case event.ConnectionCheckedIn:
		a.out[e.Address]--
	case event.ConnectionPoolReady:
		a.readied[e.Address]++
	case event.ConnectionPoolCleared:
		a.cleared[e.Address]++
		a.run.cleared.Add(1)
	}
}

// pools returns how often the pool of a host has been cleared, and has become ready.
func (a *application) pools(host string) (cleared, readied int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.cleared[host], a.readied[host]
}

// sorting is a selector of an application that treats what it gets as its own, as upstream's does: it sorts the candidates, keeps the
// first, and overwrites them.
type sorting struct{ kept *shelf }

func (s sorting) SelectServer(t description.Topology, candidates []description.Server) ([]description.Server, error) {
	s.kept.keep("the description that a selector got", t, false)
	slices.SortFunc(candidates, func(a, b description.Server) int { return int(a.Addr[len(a.Addr)-1]) - int(b.Addr[len(b.Addr)-1]) })
	if len(candidates) == 0 {
		return nil, nil
	}
	chosen := candidates[0]
	for i := range candidates {
		candidates[i] = chosen
	}
	return candidates[:1], nil
}

// choose selects a server by the application's selector.
func (a *application) choose(ctx context.Context, kept *shelf) error {
	if a.topology == nil {
		return nil
	}
	_, err := a.topology.SelectServer(ctx, sorting{kept})
	return err
}

// disconnect ends the client, and asks what it leaves.
func (a *application) disconnect(calm bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if n := a.NumberSessionsInProgress(); n != 0 && calm {
		a.run.finding("left", "%d sessions are in use although no operation is under way", n)
	}
	a.leaving.Store(true)
	if err := a.Disconnect(ctx); err != nil {
		a.run.finding("left", "Disconnect fails: %v", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for host, n := range a.out {
		if n != 0 && calm {
			a.run.finding("left", "%d connections to %s are checked out after the client was disconnected", n, host)
		}
	}
}
