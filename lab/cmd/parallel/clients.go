package main

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
)

// application is a client with what it keeps.
type application struct {
	*mongo.Client
	variant
	number  int32
	run     *run
	servers *servers
	leaving atomic.Bool // it is disconnected
	kept    shelf       // by monitors

	mu    sync.Mutex
	busy  map[string]int64 // the running command of each session
	heard map[string]int   // by server and kind of event
}

// variant are the options of a client.
type variant struct {
	uri string
	// monitors says that the client has all monitors. Without those of pools and commands it takes shorter ways.
	monitors bool
}

var variants = []variant{
	{"", false}, {"", true}, {"adaptiveThrottling=true&compressors=snappy", false}, {"adaptiveRetries=true", false},
	{"adaptiveThrottling=true&adaptiveRetries=true&minPoolSize=2", true},
	{"retryReads=false&retryWrites=false&maxPoolSize=3&compressors=zlib", false},
}

// heartbeat is the shortest interval that the specification permits.
const heartbeat = 500 * time.Millisecond

// connect starts a client.
func connect(r *run, s *servers, number int) *application {
	a := &application{
		number: int32(number + 1), variant: variants[number%len(variants)], run: r, servers: s, kept: shelf{run: r},
		busy: map[string]int64{}, heard: map[string]int{},
	}
	opts := s.Client(a.uri).SetHeartbeatInterval(max(s.kind.heartbeat, heartbeat)).SetLocalThreshold(time.Hour).
		SetServerSelectionTimeout(10 * time.Second).SetReadPreference(readpref.Nearest())
	a.setMonitors(opts)
	list := []*options.ClientOptions{opts, nil}
	client, err := mongo.Connect(list[:1]...)
	if err != nil {
		panic(err)
	}
	if a.Client = client; list[1] != nil {
		r.finding("handed in", "the driver wrote behind the end of the slice of options that Connect got")
	}
	return a
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
	for _, host := range a.servers.Hosts() {
		if n := a.times(host, event.ConnectionCheckedOut) - a.times(host, event.ConnectionCheckedIn); n != 0 && calm {
			a.run.finding("left", "%d connections to %s are checked out after the client was disconnected", n, host)
		}
	}
	a.kept.close()
}

// setMonitors sets a monitor of servers, which keeps all that it gets, and all others if the variant has them: that of retries if the
// driver is the fork.
func (a *application) setMonitors(opts *options.ClientOptions) {
	of := reflect.ValueOf(opts)
	for _, name := range []string{"SetServerMonitor", "SetMonitor", "SetPoolMonitor", "SetRetryMonitor"} {
		set := of.MethodByName(name)
		if !set.IsValid() || !a.monitors && name != "SetServerMonitor" {
			continue
		}
		monitor := reflect.New(set.Type().In(0).Elem())
		for i := range monitor.Elem().NumField() {
			function := monitor.Elem().Field(i)
			function.Set(reflect.MakeFunc(function.Type(), func(args []reflect.Value) []reflect.Value {
				a.hear(args[len(args)-1].Interface())
				return nil
			}))
		}
		set.Call([]reflect.Value{monitor})
	}
}

// checked is what clients say of a server that their monitor has reached.
const checked = "a check succeeded"

// hear keeps an event, counts what it says of a server, and asks whether a session has one user.
func (a *application) hear(happened any) {
	_, reply := happened.(*event.CommandSucceededEvent) // whose room is the driver's
	a.kept.keep(fmt.Sprintf("an event: %T", happened), happened, !reply)
	a.mu.Lock()
	defer a.mu.Unlock()
	switch e := happened.(type) {
	case *event.ServerHeartbeatSucceededEvent:
		host, _, _ := strings.Cut(e.ConnectionID, "[") // of a monitor
		a.heard[host+" "+checked]++
	case *event.PoolEvent:
		a.heard[e.Address+" "+e.Type]++
		if e.Type == event.ConnectionPoolCleared {
			a.run.cleared.Add(1)
		}
	case *event.CommandStartedEvent:
		a.started(e)
	case *event.CommandSucceededEvent:
		a.ended(e.RequestID)
	case *event.CommandFailedEvent:
		a.ended(e.RequestID)
	}
}

// times returns how often the client said something of a server.
func (a *application) times(host, what string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.heard[host+" "+what]
}

func (a *application) started(e *event.CommandStartedEvent) {
	id, _ := e.Command.Lookup("lsid").DocumentOK()
	if id == nil {
		return
	}
	if other := a.busy[string(id)]; other != 0 {
		a.run.finding("session", "two operations use one session at the same time: %s has number %d, and command %d has not ended",
			e.CommandName, e.RequestID, other)
	}
	a.busy[string(id)] = e.RequestID
}

func (a *application) ended(request int64) {
	for id, busy := range a.busy {
		if busy == request {
			delete(a.busy, id)
		}
	}
}
