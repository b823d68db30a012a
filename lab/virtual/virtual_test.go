package virtual

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/lab/internal/bsondoc"
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

// TestServerIsFoundAgain: a client that has lost a server finds it again, whatever limits its checks.
func TestServerIsFoundAgain(t *testing.T) {
	for _, uri := range []string{"", "connectTimeoutMS=0", "connectTimeoutMS=0&serverMonitoringMode=poll"} {
		virtually(t, uri, func(t *testing.T) {
			cluster := New(t, Options{Topology: "sharded:1"})
			coll := connect(t, cluster.Client(uri)).Database("db").Collection("c")
			for range 3 {
				_, err := coll.InsertOne(context.Background(), bson.D{})
				require.NoError(t, err)
				time.Sleep(time.Minute)
				cluster.Stop(0)
				time.Sleep(time.Minute)
				cluster.Restart(0)
			}
		})
	}
}

// TestZstd is about a command and rejections that are compressed with zstd: the command is compressed again for each attempt. It takes
// real time, less than a second, because the package zstd keeps channels beyond a bubble.
func TestZstd(t *testing.T) {
	t.Parallel()
	cluster := New(t, Options{Topology: "replicaset:1"})
	var sent, plain atomic.Int32
	cluster.Intercept(func(c Command, run func() bson.Raw) bson.Raw {
		switch {
		case proxy.IsHello(c.Name):
			return bsondoc.With(run(), bson.E{Key: "compression", Value: bson.A{"zstd"}})
		case c.Name != "insert":
			return run()
		case !c.Compressed:
			plain.Add(1)
		}
		if sent.Add(1) < 3 {
			return RequestRate.Reply()
		}
		return run()
	})
	coll := connect(t, cluster.Client("compressors=zstd")).Database("db").Collection("c")
	_, err := coll.InsertOne(context.Background(), bson.D{{Key: "_id", Value: 1}})
	require.NoError(t, err)
	assert.EqualValues(t, 3, sent.Load())
	assert.Zero(t, plain.Load())
}
