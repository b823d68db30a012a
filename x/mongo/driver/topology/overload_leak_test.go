package topology

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// impatientClock is the clock of the machine, but for backoffs, which take no time.
type impatientClock struct {
	backpressure.SystemClock
}

func (impatientClock) Sleep(ctx, _ context.Context, _ <-chan struct{}, _ time.Duration) error {
	return ctx.Err()
}

// connectTopology returns a topology with one server, connected, with a policy that does not wait and makes each permitted retry, however
// long the server rejects.
func connectTopology(t *testing.T, l *scripted.Listener, opts *options.ClientOptions) *Topology {
	t.Helper()
	cfg, err := NewConfig(opts.ApplyURI(l.URI()+"&adaptiveThrottling=false"), nil)
	require.NoError(t, err)
	cfg.overload.Clock = impatientClock{}
	topology, err := New(cfg)
	require.NoError(t, err)
	require.NoError(t, topology.Connect())
	return topology
}

func TestOverloadLeavesNothingBehind(t *testing.T) {
	const (
		operations = 10000
		goroutines = 20
	)
	before := runtime.NumGoroutine()
	l := scripted.Listen(t, scripted.Overloaded(), nil)
	topology := connectTopology(t, l, options.Client().SetMaxPoolSize(goroutines/2))

	var wg sync.WaitGroup
	for i := 0; i < goroutines; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for j := 0; j < operations/goroutines; j++ {
				err := ping(context.Background(), topology)
				if serverErr, ok := err.(driver.Error); !ok || !serverErr.HasErrorLabel(driver.ErrSystemOverloadedError) {
					t.Errorf("got %v, want an overload error", err)
					return
				}
			}
		}()
	}
	wg.Wait()
	assert.Equal(t, (1+int64(topology.cfg.overload.MaxRetries))*operations, l.Commands.Load())

	for _, server := range topology.servers {
		assert.Equal(t, server.pool.totalConnectionCount(), server.pool.availableConnectionCount(), "connections are checked out")
		assert.Equal(t, int64(0), server.OperationCount())
	}
	require.NoError(t, topology.Disconnect(context.Background()))
	assertGoroutines(t, before+1) // and the listener's
}

// assertGoroutines waits until no more goroutines are left. Those of closed connections end on their own time.
func assertGoroutines(t *testing.T, want int) {
	t.Helper()
	var left int
	for i := 0; i < 1000; i++ {
		if left = runtime.NumGoroutine(); left <= want {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines are left, want at most %d", left, want)
}
