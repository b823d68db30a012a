package parallel

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
)

// news is how often a client said something of a server, and when and what last.
type news struct {
	host, text string
	times      int
	at         time.Time
}

// hear keeps an event, which says what about a server.
func (a *application) hear(event any, host, what string, more ...any) {
	a.kept.keep("an event: "+what, event, true)
	a.mu.Lock()
	defer a.mu.Unlock()
	key := host + " " + what
	a.heard[key] = news{host, strings.TrimSpace(what + ": " + fmt.Sprint(more...)), a.heard[key].times + 1, time.Now()}
}

// times returns how often the client said something of a server.
func (a *application) times(host, what string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.heard[host+" "+what].times
}

// last returns what the client said last of a server, of each kind, in the order of time.
func (a *application) last(host string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var lines []string
	for _, n := range a.heard {
		if n.host == host {
			lines = append(lines, fmt.Sprintf("%6.1fs ago, %d in all, %s", time.Since(n.at).Seconds(), n.times, n.text))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n  ")
}

// checked is what clients say of a server that their monitor has reached.
const checked = "a check succeeded"

// serverMonitor returns a monitor that keeps all that it gets.
func (a *application) serverMonitor() *event.ServerMonitor {
	host := func(connection string) string { // of a monitor
		before, _, _ := strings.Cut(connection, "[")
		return before
	}
	return &event.ServerMonitor{
		ServerOpening: func(e *event.ServerOpeningEvent) { a.hear(e, e.Address.String(), "the server was added") },
		ServerClosed:  func(e *event.ServerClosedEvent) { a.hear(e, e.Address.String(), "the server was removed") },
		ServerDescriptionChanged: func(e *event.ServerDescriptionChangedEvent) {
			a.hear(e, e.Address.String(), "the description changed", e.PreviousDescription.Kind, " to ", e.NewDescription.Kind)
		},
		TopologyDescriptionChanged: func(e *event.TopologyDescriptionChangedEvent) { a.hear(e, "", "the topology changed") },
		ServerHeartbeatStarted:     func(e *event.ServerHeartbeatStartedEvent) { a.hear(e, host(e.ConnectionID), "a check began") },
		ServerHeartbeatSucceeded: func(e *event.ServerHeartbeatSucceededEvent) {
			a.hear(e, host(e.ConnectionID), checked, e.Reply.Kind)
		},
		ServerHeartbeatFailed: func(e *event.ServerHeartbeatFailedEvent) {
			a.hear(e, host(e.ConnectionID), "a check failed", e.Failure)
		},
	}
}

func (a *application) pool(e *event.PoolEvent) {
	a.hear(e, e.Address, e.Type, e.Reason, e.Error)
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
