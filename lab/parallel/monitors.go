package parallel

import (
	"fmt"
	"reflect"
	"strings"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

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
