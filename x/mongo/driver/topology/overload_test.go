package topology

import (
	"context"
	"io"
	"sync/atomic"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

func TestTopologyOverloadPolicy(t *testing.T) {
	tests := []struct {
		name          string
		opts          *options.ClientOptions
		reads, writes bool
	}{
		{name: "default", opts: options.Client(), reads: true, writes: true},
		{name: "retryReads off", opts: options.Client().SetRetryReads(false), reads: false, writes: true},
		{name: "retryWrites off", opts: options.Client().SetRetryWrites(false), reads: true, writes: false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			policy := newTopology(t, tt.opts).cfg.overload.Policy
			assert.Equal(t, tt.reads, policy.RetryReads)
			assert.Equal(t, tt.writes, policy.RetryWrites)

			jitter := policy.Jitter()
			assert.True(t, jitter >= 0 && jitter < 1, "jitter %v", jitter)
		})
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

// find is a retryable read.
func find(ctx context.Context, d driver.Deployment) error {
	mode := driver.RetryOncePerCommand
	return driver.Operation{
		CommandFn: func(dst []byte, _ description.SelectedServer) ([]byte, error) {
			return bsoncore.AppendStringElement(dst, "find", "coll"), nil
		},
		Database: "db", Deployment: d, Type: driver.Read, RetryMode: &mode,
	}.Execute(ctx)
}

// TestNoAdaptiveRetries is about an error that the Retryable Reads specification covers as well.
func TestNoAdaptiveRetries(t *testing.T) {
	const shutdown = 91
	l := scripted.Listen(t, scripted.Failure(shutdown, driver.ErrSystemOverloadedError, driver.ErrRetryableError), nil)
	topology := connectTopology(t, l, options.Client().SetMaxAdaptiveRetries(0))
	defer func() { require.NoError(t, topology.Disconnect(context.Background())) }()

	require.Error(t, find(context.Background(), topology))
	assert.Equal(t, int64(1), l.Commands.Load())
}

// TestMaxAdaptiveRetriesLeavesOtherRetries is about network errors: they are retried as ever, whatever the limit is.
func TestMaxAdaptiveRetriesLeavesOtherRetries(t *testing.T) {
	for _, limit := range []uint{0, 2} {
		l := scripted.Listen(t, bson.D{{Key: "ok", Value: 1}}, nil)
		var finds atomic.Int64
		answer := func(command string) any {
			if command == "find" && finds.Add(1) == 1 {
				return io.ErrUnexpectedEOF
			}
			return nil
		}
		l.Answer.Store(&answer)
		topology := connectTopology(t, l, options.Client().SetMaxAdaptiveRetries(limit))
		require.NoError(t, find(context.Background(), topology))
		assert.Equal(t, int64(2), finds.Load())
		require.NoError(t, topology.Disconnect(context.Background()))
	}
}
