//fork:base >=v2.7.0

package mongo_test

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/randutil"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// What a client does under overload, as applications see it: these tests use nothing but options and methods that every driver has.

var (
	overloaded = bson.D{
		{Key: "ok", Value: 0},
		{Key: "code", Value: 462},
		{Key: "errorLabels", Value: bson.A{"SystemOverloadedError", "RetryableError"}},
	}
	// notYet is retryable for reads, and leaves the server selectable.
	notYet = bson.D{{Key: "ok", Value: 0}, {Key: "code", Value: 134}}
)

// connect returns a client of the server whose backoffs take no time. The function that it returns tells which commands it
// has sent so far.
func connect(t *testing.T, uri string, opts *options.ClientOptions) (*mongo.Client, func() []string) {
	t.Helper()
	t.Cleanup(randutil.SetJitterForTesting(func() float64 { return 0 }))
	var sent []string
	opts.ApplyURI(uri).SetMonitor(&event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
		sent = append(sent, e.CommandName)
	}})
	client, err := mongo.Connect(opts)
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	return client, func() []string { return sent }
}

// TestClientKeepsTheLimit is about a client-side timeout, which lifts the limit of one retry: not once there was overload.
func TestClientKeepsTheLimit(t *testing.T) {
	l := scripted.Listen(t, notYet, nil)
	l.Next.Store(&overloaded)
	enough := func(string) any { // without a limit it would succeed
		if l.Commands.Load() > 20 {
			return bson.D{{Key: "ok", Value: 1}}
		}
		return nil
	}
	l.Answer.Store(&enough)
	client, sent := connect(t, l.URI(), options.Client().SetTimeout(time.Minute))

	require.Error(t, client.Database("db").Collection("coll").FindOne(context.Background(), bson.D{}).Err())
	assert.Equal(t, 3, len(sent()))
}

func TestClientWithoutAdaptiveRetries(t *testing.T) {
	retryableRead := bson.D{{Key: "ok", Value: 0}, {Key: "code", Value: 134}, overloaded[2]}
	l := scripted.Listen(t, retryableRead, nil)
	client, sent := connect(t, l.URI(), options.Client().SetMaxAdaptiveRetries(0))

	require.Error(t, client.Database("db").Collection("coll").FindOne(context.Background(), bson.D{}).Err())
	assert.Len(t, sent(), 1)
}

// TestClientRetriesEstablishment is about a server that closes connections as soon as they come, for a while.
func TestClientRetriesEstablishment(t *testing.T) {
	l := scripted.Listen(t, bson.D{{Key: "ok", Value: 1}}, nil)
	client, sent := connect(t, l.URI(), options.Client().SetMaxConnIdleTime(time.Millisecond))
	require.NoError(t, client.Ping(context.Background(), nil), "the monitor's connection is made first")

	time.Sleep(10 * time.Millisecond) // makes the connection stale
	l.Refuse.Store(2)
	require.NoError(t, client.Ping(context.Background(), nil))
	assert.Len(t, sent(), 2)
}
