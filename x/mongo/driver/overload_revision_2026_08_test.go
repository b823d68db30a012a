//fork:base >=v2.7.0

package driver_test

import (
	"context"
	"math"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/randutil"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// newScript returns a script with the policy of a client that sets maxAdaptiveRetries.
func newScript(t *testing.T, maxAdaptiveRetries uint, replies ...any) *scripted.Script {
	s := scripted.New(t, replies...)
	s.Policy = backpressure.NewPolicy(maxAdaptiveRetries, false)
	s.Policy.RetryReads, s.Policy.RetryWrites = true, true
	s.Policy.Jitter = func() float64 { return 0.5 }
	s.Policy.Clock = s
	return s
}

func overloadedFor(base int64) bson.D {
	return append(scripted.Overloaded(), bson.E{Key: "baseBackoffMS", Value: base})
}

func TestExecuteMaxAdaptiveRetries(t *testing.T) {
	hour := time.Hour
	overloaded, shuttingDown := scripted.Overloaded(), scripted.ShuttingDown()
	alsoRetryable := scripted.Failure(91, driver.ErrSystemOverloadedError, driver.ErrRetryableError)
	tests := []struct {
		name       string
		maxRetries uint
		timeout    *time.Duration
		replies    []any
		slept      []time.Duration
	}{
		{name: "two", maxRetries: 2, replies: scripted.Repeat(3, overloaded), slept: []time.Duration{100 * ms, 200 * ms}},
		{name: "four", maxRetries: 4, replies: scripted.Repeat(5, overloaded), slept: []time.Duration{100 * ms, 200 * ms, 400 * ms, 800 * ms}},
		{name: "none", maxRetries: 0, replies: []any{overloaded}},
		{name: "none for errors that are retryable otherwise", maxRetries: 0, replies: []any{alsoRetryable}},
		{name: "the limit holds for what follows an overload error", maxRetries: 2,
			replies: []any{overloaded, shuttingDown, shuttingDown}, slept: []time.Duration{100 * ms}},
		{name: "also under a timeout", maxRetries: 2, timeout: &hour,
			replies: []any{overloaded, shuttingDown, shuttingDown}, slept: []time.Duration{100 * ms}},
		{name: "the exponent counts all attempts", maxRetries: 3,
			replies: []any{shuttingDown, overloaded, shuttingDown, overloaded}, slept: []time.Duration{200 * ms}},
		{name: "the server's base backoff", maxRetries: 2,
			replies: []any{overloadedFor(30), overloadedFor(30), overloadedFor(30)}, slept: []time.Duration{30 * ms, 60 * ms}},
		{name: "of one error alone", maxRetries: 2,
			replies: []any{overloadedFor(30), overloaded, overloaded}, slept: []time.Duration{30 * ms, 200 * ms}},
		{name: "no positive base backoff", maxRetries: 2,
			replies: []any{overloadedFor(0), overloadedFor(-1), overloaded}, slept: []time.Duration{100 * ms, 200 * ms}},
		{name: "a base backoff beyond the longest", maxRetries: 1,
			replies: []any{overloadedFor(math.MaxInt64 / int64(time.Millisecond)), overloaded},
			slept:   []time.Duration{5000 * ms}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScript(t, tt.maxRetries, tt.replies...)
			op := s.Read()
			op.Timeout = tt.timeout
			require.Error(t, s.Execute(context.Background(), op))
			assert.Equal(t, tt.slept, s.Slept)
			assert.Len(t, s.Sent, len(tt.replies))
		})
	}
}

func TestExecuteOverloadRetargeting(t *testing.T) {
	selected := func(topology description.TopologyKind, kind description.ServerKind, retarget bool, first any) []address.Address {
		s := newScript(t, 2, first, scripted.OK())
		s.Topology = topology
		s.Servers = []description.Server{scripted.Server("a", kind), scripted.Server("b", kind)}
		s.Policy.Retarget = retarget
		require.NoError(t, s.Execute(context.Background(), s.Read()))
		return s.Selected
	}
	same, other := []address.Address{"a:27017", "a:27017"}, []address.Address{"a:27017", "b:27017"}
	replicaSet, secondary := description.TopologyKindReplicaSetNoPrimary, description.ServerKindRSSecondary

	assert.Equal(t, same, selected(replicaSet, secondary, false, scripted.Overloaded()))
	assert.Equal(t, other, selected(replicaSet, secondary, true, scripted.Overloaded()))
	assert.Equal(t, same, selected(replicaSet, secondary, true, scripted.ShuttingDown()))
	assert.Equal(t, other, selected(description.TopologyKindSharded, description.ServerKindMongos, false, scripted.Overloaded()))
}

// TestExecuteOwnMaxAdaptiveRetries is about operations on deployments of others than the client: their fields are what
// they can be configured by.
func TestExecuteOwnMaxAdaptiveRetries(t *testing.T) {
	defer randutil.SetJitterForTesting(func() float64 { return 0 })()
	run := func(maxRetries uint, replies int) error {
		s := scripted.New(t, scripted.Repeat(replies, scripted.Overloaded())...)
		s.Policy = nil
		op := s.Command()
		op.MaxAdaptiveRetries = maxRetries
		return s.Execute(context.Background(), op)
	}
	for _, maxRetries := range []uint{0, 1, 3} {
		serverErr := scripted.As[driver.Error](t, run(maxRetries, 1+int(maxRetries)))
		assert.Equal(t, int32(462), serverErr.Code)
	}

	s := scripted.New(t, scripted.Failure(91, driver.ErrSystemOverloadedError, driver.ErrRetryableError))
	s.Policy = nil
	require.Error(t, s.Execute(context.Background(), s.Read()), "zero is a limit of what the RetryMode retries, too")
}
