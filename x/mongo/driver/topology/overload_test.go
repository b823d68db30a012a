package topology

import (
	"context"
	"runtime"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

func TestTopologyOverloadPolicy(t *testing.T) {
	for _, tt := range []struct {
		opts          *options.ClientOptions
		reads, writes bool
	}{
		{opts: options.Client(), reads: true, writes: true},
		{opts: options.Client().SetRetryReads(false), reads: false, writes: true},
		{opts: options.Client().SetRetryWrites(false), reads: true, writes: false},
	} {
		policy := newTopology(t, tt.opts).cfg.overload.Policy
		assert.Equal(t, []bool{tt.reads, tt.writes}, []bool{policy.RetryReads, policy.RetryWrites})
		jitter := policy.Jitter()
		assert.True(t, jitter >= 0 && jitter < 1, "jitter %v", jitter)
	}
}

func TestTokenBucketOfAClient(t *testing.T) {
	bucket := func(opts *options.ClientOptions) any { return newTopology(t, opts).cfg.overload.Bucket }
	assert.Nil(t, bucket(options.Client()))
	assert.Nil(t, bucket(options.Client().SetAdaptiveRetries(false)))
	one, other := bucket(options.Client().SetAdaptiveRetries(true)), bucket(options.Client().SetAdaptiveRetries(true))
	assert.NotNil(t, one)
	assert.True(t, one != other, "each client has its own bucket")
}

// impatientClock is the clock of the machine, but for backoffs, which take no time.
type impatientClock struct {
	backpressure.SystemClock
}

func (impatientClock) Sleep(ctx, _ context.Context, _ <-chan struct{}, _ time.Duration) error {
	return ctx.Err()
}

// TestOverloadLeavesNothingBehind is about a topology with one server, and a policy that does not wait and makes each permitted retry,
// however long the server rejects.
func TestOverloadLeavesNothingBehind(t *testing.T) {
	const operations, goroutines = 10000, 20
	before := runtime.NumGoroutine()
	l := scripted.Listen(t, scripted.Overloaded(), nil)
	topology := newTopology(t, options.Client().ApplyURI(l.URI()+"&adaptiveThrottling=false").SetMaxPoolSize(goroutines/2))
	topology.cfg.overload.Clock = impatientClock{}
	require.NoError(t, topology.Connect())

	inParallel(goroutines, operations/goroutines, func(int, int) {
		err := driver.Operation{CommandFn: scripted.Named("ping"), Database: "admin", Deployment: topology}.Execute(context.Background())
		if serverErr, ok := err.(driver.Error); !ok || !serverErr.HasErrorLabel(driver.ErrSystemOverloadedError) {
			t.Errorf("got %v, want an overload error", err)
		}
	})
	assert.Equal(t, (1+int64(topology.cfg.overload.MaxRetries))*operations, l.Commands.Load())

	for _, server := range topology.servers {
		assert.Equal(t, server.pool.totalConnectionCount(), server.pool.availableConnectionCount(), "connections are checked out")
		assert.Equal(t, int64(0), server.OperationCount())
		assert.Equal(t, topology.cfg.overload, backpressure.PolicyOf(server), "cursors send their commands to a server")
	}
	require.NoError(t, topology.Disconnect(context.Background()))
	// The listener's is left. Those of closed connections end on their own time.
	for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before+1; time.Sleep(10 * time.Millisecond) {
		require.True(t, time.Now().Before(end), "%d goroutines are left, want at most %d", runtime.NumGoroutine(), before+1)
	}
}
