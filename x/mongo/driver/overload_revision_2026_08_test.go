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
	overloaded := scripted.Overloaded()
	alsoRetryable := scripted.Failure(91, driver.ErrSystemOverloadedError, driver.ErrRetryableError)
	for _, tt := range []struct {
		name       string
		maxRetries uint
		replies    []any
		slept      []time.Duration // in milliseconds
	}{
		{"two", 2, scripted.Repeat(3, overloaded), []time.Duration{100, 200}},
		{"none", 0, []any{overloaded}, nil},
		{"none for errors that are retryable otherwise", 0, []any{alsoRetryable}, nil},
		{"the server's base backoff", 2, scripted.Repeat(3, overloadedFor(30)), []time.Duration{30, 60}},
		{"of one error alone", 2, []any{overloadedFor(30), overloaded, overloaded}, []time.Duration{30, 200}},
		{"no positive base backoff", 2, []any{overloadedFor(0), overloadedFor(-1), overloaded}, []time.Duration{100, 200}},
		{"a base backoff beyond the longest", 1, []any{overloadedFor(math.MaxInt64 / int64(time.Millisecond)), overloaded},
			[]time.Duration{5000}},
	} {
		s := newScript(t, tt.maxRetries, tt.replies...)
		require.Error(t, s.Execute(context.Background(), s.Read()), tt.name)
		require.Len(t, s.Slept, len(tt.slept), tt.name)
		for i, want := range tt.slept {
			assert.Equal(t, want*ms, s.Slept[i], tt.name)
		}
		assert.Len(t, s.Sent, len(tt.replies), tt.name)
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

// TestExecuteOwnMaxAdaptiveRetries is about operations on deployments of others: their fields configure them.
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
		hasCode(462)(t, run(maxRetries, 1+int(maxRetries)))
	}
	s := scripted.New(t, scripted.Failure(91, driver.ErrSystemOverloadedError, driver.ErrRetryableError))
	s.Policy = nil
	require.Error(t, s.Execute(context.Background(), s.Read()), "zero is a limit of what the RetryMode retries, too")
}
