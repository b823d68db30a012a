package driver_test

import (
	"context"
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// TestThrottledBehindRouters: routers and load balancers stand for many servers, so only retries are withheld from them. A load
// balancer is the one server there is, whatever its throttle says, and no selector is asked for another.
func TestThrottledBehindRouters(t *testing.T) {
	for topology, server := range map[description.TopologyKind]description.ServerKind{
		description.TopologyKindLoadBalanced: description.ServerKindLoadBalancer,
		description.TopologyKindSharded:      description.ServerKindMongos,
	} {
		t.Run(topology.String(), func(t *testing.T) {
			s := throttled(t, []any{scripted.Overloaded()}, nil, "a")
			s.Topology, s.Servers[0].Kind = topology, server
			reject(s, "a", 9)
			const most = 2 * 6 // selections of six attempts: the server, and the search for another
			selections := 0
			s.OnSelect = func() error {
				if selections++; selections > most {
					return errors.New("too many selections")
				}
				return nil
			}
			err := s.Execute(context.Background(), s.Read())
			var retries *event.RetryError
			require.True(t, errors.As(err, &retries), "got %v", err)
			assert.Equal(t, 5, retries.Throttled)
			assert.Len(t, s.Sent, 1)
			assert.Equal(t, backoffs, s.Slept)
		})
	}
}

func TestThrottledEvents(t *testing.T) {
	s := throttled(t, nil, []string{"a"})
	s.Policy.MaxRetries = 1
	r := record(s)
	op := s.Read()
	op.CommandMonitor = &event.CommandMonitor{Started: func(context.Context, *event.CommandStartedEvent) {
		t.Error("a command event of an attempt that was not sent")
	}}
	require.Error(t, s.Execute(context.Background(), op))

	assert.Equal(t, []string{
		"attempt 1: retry after 50ms, throttled", "attempt 2: refused, limit",
		`failed: attempts 2, retries 1, backoff 50ms, "limit"`,
	}, r.lines())
	for _, e := range r.decided {
		assert.Equal(t, address.Address("a:27017"), e.ServerAddress)
	}
	assert.Equal(t, 2, r.finished[0].Throttled)
}
