package openloop

import (
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
)

// StormSamples are the results of a StormPlan, as reported by programs in other languages.
type StormSamples struct {
	// Newcomers has an element for each client.
	Newcomers []Newcomer `json:"newcomers"`
	// Cleared, ClearedWithConnections and Heartbeats are those of a StormReport.
	Cleared                int `json:"cleared"`
	ClearedWithConnections int `json:"cleared_with_connections"`
	Heartbeats             int `json:"heartbeats_failed"`
}

// Newcomer is a client's experience.
type Newcomer struct {
	Errors int           `json:"errors"`
	Took   time.Duration `json:"took_ns"` // until its first success; zero if it never had any
}

// Report summarizes the clients' experience.
func (s *StormSamples) Report() *StormReport {
	report := &StormReport{Cleared: s.Cleared, ClearedWithConnections: &s.ClearedWithConnections, Heartbeats: s.Heartbeats}
	var latencies []time.Duration
	for _, n := range s.Newcomers {
		report.Errors += n.Errors
		if n.Errors > 0 {
			report.Unlucky++
		}
		if n.Took > 0 {
			report.Connected++
			report.Last = max(report.Last, n.Took)
			latencies = append(latencies, n.Took)
		}
	}
	report.Latency = percentiles(latencies)
	return report
}

// watch counts events of the pools and the monitoring of one client.
type watch struct {
	mu sync.Mutex
	// established holds the ready connections, by server and number in its pool. ConnectionClosed also reports connections that
	// never became ready.
	established map[connection]struct{}

	cleared, clearedWithConnections, heartbeats int
}

type connection struct {
	address string
	id      int64
}

func (w *watch) pools() *event.PoolMonitor { return &event.PoolMonitor{Event: w.pool} }

func (w *watch) pool(e *event.PoolEvent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e.Type {
	case event.ConnectionReady:
		if w.established == nil {
			w.established = map[connection]struct{}{}
		}
		w.established[connection{e.Address, e.ConnectionID}] = struct{}{}
	case event.ConnectionClosed:
		delete(w.established, connection{e.Address, e.ConnectionID})
	case event.ConnectionPoolCleared:
		w.cleared++
		if w.holds(e.Address) {
			w.clearedWithConnections++
		}
	}
}

// holds reports whether there is an established connection to a server.
func (w *watch) holds(address string) bool {
	for c := range w.established {
		if c.address == address {
			return true
		}
	}
	return false
}

func (w *watch) servers() *event.ServerMonitor {
	return &event.ServerMonitor{ServerHeartbeatFailed: func(*event.ServerHeartbeatFailedEvent) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.heartbeats++
	}}
}

// addTo adds the counts so far.
func (w *watch) addTo(s *StormSamples) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s.Cleared += w.cleared
	s.ClearedWithConnections += w.clearedWithConnections
	s.Heartbeats += w.heartbeats
}
