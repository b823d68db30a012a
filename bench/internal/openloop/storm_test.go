package openloop

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.mongodb.org/mongo-driver/v2/event"
)

func TestRunStorm(t *testing.T) {
	report, err := RunStorm(context.Background(), StormPlan{URI: startCanned(t), Clients: 5, Limit: time.Minute})
	require.NoError(t, err)
	assert.Equal(t, 5, report.Connected)
	assert.Zero(t, report.Errors)
	assert.GreaterOrEqual(t, report.Last, report.Latency.P50)

	_, err = RunStorm(context.Background(), StormPlan{})
	assert.ErrorContains(t, err, "0 clients")
}

func TestRunStormGivesUp(t *testing.T) {
	const nobody = "mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=10"
	report, err := RunStorm(context.Background(), StormPlan{URI: nobody, Clients: 2, Limit: 200 * time.Millisecond})
	require.NoError(t, err)
	assert.Zero(t, report.Connected)
	assert.Equal(t, 2, report.Unlucky)
	assert.GreaterOrEqual(t, report.Errors, 2)
	assert.Positive(t, report.Heartbeats)
	require.NotNil(t, report.ClearedWithConnections)
	assert.Zero(t, *report.ClearedWithConnections)
}

func TestClearedPoolsWithConnections(t *testing.T) {
	var w watch
	var cleared []int
	for _, e := range []struct {
		kind string
		host string
		id   int64
	}{
		{event.ConnectionCreated, "a", 1}, {event.ConnectionClosed, "a", 1}, {event.ConnectionPoolCleared, "a", 0}, // never ready
		{event.ConnectionReady, "a", 2}, {event.ConnectionPoolCleared, "b", 0}, // that of another server
		{event.ConnectionCreated, "a", 3}, {event.ConnectionClosed, "a", 3}, {event.ConnectionPoolCleared, "a", 0}, // the second is left
		{event.ConnectionClosed, "a", 2}, {event.ConnectionPoolCleared, "a", 0},
	} {
		w.pools().Event(&event.PoolEvent{Type: e.kind, Address: e.host, ConnectionID: e.id})
		if e.kind == event.ConnectionPoolCleared {
			cleared = append(cleared, w.clearedWithConnections)
		}
	}
	assert.Equal(t, []int{0, 0, 1, 1}, cleared)
	assert.Equal(t, 4, w.cleared)
}

func TestStormReport(t *testing.T) {
	samples := StormSamples{
		Newcomers: []Newcomer{{Took: time.Second}, {Errors: 2, Took: 3 * time.Second}, {Errors: 1}},
		Cleared:   3, ClearedWithConnections: 1, Heartbeats: 7,
	}
	with := 1
	assert.Equal(t, &StormReport{
		Connected: 2, Errors: 3, Unlucky: 2, Cleared: 3, ClearedWithConnections: &with, Heartbeats: 7, Last: 3 * time.Second,
		Latency: Percentiles{P50: 3 * time.Second, P99: 3 * time.Second, P999: 3 * time.Second},
	}, samples.Report())
}
