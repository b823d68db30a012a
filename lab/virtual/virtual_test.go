package virtual

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/topology"
)

func id(n int) bson.D { return bson.D{{Key: "_id", Value: n}} }

// connect returns a client that disconnects at the end of the test.
func connect(t testing.TB, opts ...*options.ClientOptions) *mongo.Client {
	t.Helper()
	client, err := mongo.Connect(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	return client
}

// virtually is a test of its own in a bubble.
func virtually(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// limited returns a context with a deadline, or sets the client's Timeout.
func limited(t *testing.T, opts *options.ClientOptions, end string, after time.Duration) context.Context {
	if end == byTimeout {
		opts.SetTimeout(after)
		return context.Background()
	}
	ctx, cancel := context.WithTimeout(context.Background(), after)
	t.Cleanup(cancel)
	return ctx
}

// TestWrongType is about a field of another type than the servers read it by, which is not a field that is missing.
func TestWrongType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		database := connect(t, New(t, Options{Topology: "standalone"}).Client()).Database("db")
		err := database.RunCommand(context.Background(), bson.D{{Key: "find", Value: "c"}, {Key: "filter", Value: 1}}).Err()
		var failure mongo.CommandError
		require.ErrorAs(t, err, &failure)
		assert.Equal(t, "TypeMismatch", failure.Name)
	})
}

// TestOtherRouter is about the commands of a transaction that meet another router than the one at which it began.
func TestOtherRouter(t *testing.T) {
	s, current := newStore(topology.Spec{Kind: topology.Sharded, Members: 2}, Options{}), &session{number: -1}
	for i, one := range []struct {
		router, command string
		unstarted       int
	}{{"a", "ping", 0}, {"a", "ping", 0}, {"b", "ping", 1}, {"b", "commitTransaction", 1}} {
		q := &query{Request: &proxy.Request{Command: one.command}, host: one.router}
		q.StartTransaction = i == 0
		_, failed := s.inTransaction(q, current, 1)
		assert.Nil(t, failed)
		assert.Equal(t, one.unstarted, s.unstarted, "%d, %s", i, one.command)
	}
}
