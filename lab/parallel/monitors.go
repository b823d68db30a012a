package parallel

import (
	"context"
	"reflect"
	"strings"

	"go.mongodb.org/mongo-driver/v2/event"
)

// keepEvents lets each function of a monitor keep what it gets.
func (a *application) keepEvents(monitor reflect.Value) {
	for i := range monitor.NumField() {
		field := monitor.Field(i)
		field.Set(reflect.MakeFunc(field.Type(), func(args []reflect.Value) []reflect.Value {
			event := args[len(args)-1]
			a.kept.keep("an event: "+event.Type().String(), event.Interface(), true)
			return nil
		}))
	}
}

// hear counts what a client says of a server.
func (a *application) hear(host, what string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.heard[host+" "+what]++
}

// times returns how often the client said something of a server.
func (a *application) times(host, what string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.heard[host+" "+what]
}

// checked is what clients say of a server that their monitor has reached.
const checked = "a check succeeded"

// serverMonitor returns a monitor that keeps all that it gets.
func (a *application) serverMonitor() *event.ServerMonitor {
	m := &event.ServerMonitor{}
	a.keepEvents(reflect.ValueOf(m).Elem())
	keep := m.ServerHeartbeatSucceeded
	m.ServerHeartbeatSucceeded = func(e *event.ServerHeartbeatSucceededEvent) {
		host, _, _ := strings.Cut(e.ConnectionID, "[") // of a monitor
		a.hear(host, checked)
		keep(e)
	}
	return m
}

// setRetryMonitor sets the fork's monitor of retries, if the driver is the fork.
func (a *application) setRetryMonitor(opts any) {
	set := reflect.ValueOf(opts).MethodByName("SetRetryMonitor")
	if !set.IsValid() {
		return
	}
	m := reflect.New(set.Type().In(0).Elem())
	a.keepEvents(m.Elem())
	set.Call([]reflect.Value{m})
}

func (a *application) pool(e *event.PoolEvent) {
	a.kept.keep("an event of a pool", e, true)
	a.hear(e.Address, e.Type)
	if e.Type == event.ConnectionPoolCleared {
		a.run.cleared.Add(1)
	}
}

// commandMonitor returns a monitor that keeps all that it gets, and asks whether a session has one user.
func (a *application) commandMonitor() *event.CommandMonitor {
	return &event.CommandMonitor{
		Started: func(_ context.Context, e *event.CommandStartedEvent) {
			a.kept.keep("the event of a command that starts", e, true)
			a.started(e)
		},
		Succeeded: func(_ context.Context, e *event.CommandSucceededEvent) {
			a.ended(e.RequestID)
			a.kept.keep("the event of a command that succeeded", e, false)
		},
		Failed: func(_ context.Context, e *event.CommandFailedEvent) {
			a.ended(e.RequestID)
			a.kept.keep("the event of a command that failed", e, true)
		},
	}
}

func (a *application) started(e *event.CommandStartedEvent) {
	id, _ := e.Command.Lookup("lsid").DocumentOK()
	if id == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if other := a.busy[string(id)]; other != 0 {
		a.run.finding("session", "two operations use one session at the same time: %s has number %d, and command %d has not ended",
			e.CommandName, e.RequestID, other)
	}
	a.busy[string(id)] = e.RequestID
}

func (a *application) ended(request int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for id, busy := range a.busy {
		if busy == request {
			delete(a.busy, id)
		}
	}
}
