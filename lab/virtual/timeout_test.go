package virtual

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	driverevent "go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/lab/internal/bsondoc"
)

// TestEachNextHasTheTimeout is about cursors of each kind, without MaxAwaitTime, and the client's Timeout or a deadline. No getMore has a
// maxTimeMS, which would be how long the server waits for documents. Find has the Timeout, and each Next has it anew
// (client-side-operations-timeout.md, "Cursors").
func TestEachNextHasTheTimeout(t *testing.T) {
	for kind, cursorType := range map[string]options.CursorType{
		"non-tailable": options.NonTailable, "tailable": options.Tailable, "awaitData": options.TailableAwait,
	} {
		for _, end := range []string{byDeadline, byTimeout} {
			virtually(t, kind+"/"+end, func(t *testing.T) {
				const timeout = 3 * time.Second
				cluster := New(t, Options{Topology: "replicaset:1"})
				silent, getMores := false, 0
				fill(cluster, "")
				cluster.Intercept(func(c Command, run func() bson.Raw) bson.Raw {
					if c.Name == "getMore" {
						getMores++
						assert.Empty(t, c.Body.Lookup("maxTimeMS").Value, "%v", c.Body)
					}
					switch {
					case handshake(c):
					case silent:
						time.Sleep(time.Hour)
					default:
						time.Sleep(2 * time.Second)
					}
					return run()
				})
				opts := cluster.Client()
				ctx := limited(t, opts, end, map[string]time.Duration{byDeadline: time.Minute, byTimeout: timeout}[end])
				coll := connect(t, opts).Database("db").Collection("c")
				cursor, err := coll.Find(ctx, bson.D{}, options.Find().SetBatchSize(1).SetCursorType(cursorType))
				require.NoError(t, err)
				for range 4 { // which take twice as long as Timeout in all
					require.True(t, cursor.Next(ctx), cursor.Err())
				}
				assert.Equal(t, 3, getMores)
				if end == byDeadline {
					return
				}
				silent = true
				for _, call := range []func() error{
					func() error { cursor.Next(ctx); return cursor.Err() },
					func() error {
						return errorOf(coll.Find(ctx, bson.D{}, options.Find().SetBatchSize(1).SetCursorType(cursorType)))
					},
				} {
					start := time.Now()
					err := call()
					assert.True(t, mongo.IsTimeout(err), "%v", err)
					assert.Equal(t, timeout, time.Since(start).Round(10*time.Millisecond))
				}
				time.Sleep(2 * time.Hour)
			})
		}
	}
}

// TestAwaitsTooLong is about an awaitData cursor whose MaxAwaitTime is not less than the time of a Next: that is an error, without a getMore
// (client-side-operations-timeout.md, "Tailable awaitData cursors"), and a Next with more time goes on.
func TestAwaitsTooLong(t *testing.T) {
	for _, end := range []string{byDeadline, byTimeout} {
		virtually(t, end, func(t *testing.T) {
			const await = time.Second
			cluster := New(t, Options{Topology: "replicaset:1"})
			fill(cluster, "")
			opts := cluster.Client()
			short := limited(t, opts, end, await)
			coll := connect(t, opts).Database("db").Collection("c")
			cursor, err := coll.Find(context.Background(), bson.D{},
				options.Find().SetBatchSize(1).SetCursorType(options.TailableAwait).SetMaxAwaitTime(await))
			require.NoError(t, err)
			enough, stop := context.WithTimeout(context.Background(), time.Minute)
			defer stop()
			require.True(t, cursor.Next(enough), cursor.Err())
			assert.False(t, cursor.Next(short))
			assert.ErrorContains(t, cursor.Err(), "MaxAwaitTime")
			assert.Zero(t, cluster.Count("getMore"))
			assert.NotZero(t, cursor.ID())
			assert.True(t, cursor.Next(enough), cursor.Err())
		})
	}
}

// TestDownloadStreamHasOneTimeout is about the client's Timeout and a download stream: it limits the stream's life, with the getMores of
// its cursor (client-side-operations-timeout.md, "GridFS API").
func TestDownloadStreamHasOneTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const timeout = 3 * time.Second
		cluster := New(t, Options{Topology: "replicaset:1"})
		bucket := connect(t, cluster.Client().SetTimeout(timeout)).Database("db").GridFSBucket(options.GridFSBucket().SetChunkSizeBytes(1))
		name, err := bucket.UploadFromStream(context.Background(), "file", strings.NewReader(strings.Repeat("x", 300)))
		require.NoError(t, err)
		stream, err := bucket.OpenDownloadStream(context.Background(), name)
		require.NoError(t, err)
		proceed := held(cluster, func(c Command) bool { return c.Name == "getMore" })
		defer proceed()
		time.Sleep(2 * time.Second)
		start := time.Now()
		_, err = stream.Read(make([]byte, 300))
		assert.True(t, mongo.IsTimeout(err), "%v", err)
		assert.Equal(t, time.Second, time.Since(start).Round(10*time.Millisecond), "what is left of the stream's time")
	})
}

// TestMonitorsHaveNoTimeout is about a server whose hellos take longer than the client's Timeout: its monitors wait for them, and limit them
// by connectTimeoutMS alone (client-side-operations-timeout.md, "Server Monitoring").
func TestMonitorsHaveNoTimeout(t *testing.T) {
	for _, mode := range []string{"poll", "stream"} {
		virtually(t, mode, func(t *testing.T) {
			cluster := New(t, Options{Topology: "replicaset:1"})
			var answered, failed atomic.Int32
			const connectTimeout = 20 * time.Second
			opts := cluster.Client("serverMonitoringMode=" + mode).SetTimeout(50 * time.Millisecond).SetConnectTimeout(connectTimeout)
			cluster.Intercept(func(c Command, run func() bson.Raw) bson.Raw {
				if limit, limited := c.Body.Lookup("maxTimeMS").AsInt64OK(); limited {
					assert.Equal(t, connectTimeout.Milliseconds(), limit, "%v", c.Body)
				}
				time.Sleep(time.Second)
				return run()
			})
			connect(t, opts.SetServerMonitor(&driverevent.ServerMonitor{
				ServerHeartbeatSucceeded: func(*driverevent.ServerHeartbeatSucceededEvent) { answered.Add(1) },
				ServerHeartbeatFailed:    func(*driverevent.ServerHeartbeatFailedEvent) { failed.Add(1) },
			}))
			time.Sleep(time.Minute)
			assert.Greater(t, answered.Load(), int32(2))
			assert.Zero(t, failed.Load())
		})
	}
}

// TestMinPoolSizeHasConnectTimeout is about a connection that the pool makes for minPoolSize, from a server that accepts it and says nothing:
// connectTimeoutMS ends it, the client's Timeout does not (client-side-operations-timeout.md, "Background Connection Pooling").
func TestMinPoolSizeHasConnectTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const connectTimeout = 4 * time.Second
		cluster := New(t, Options{Topology: "replicaset:1"})
		var mu sync.Mutex
		begun := map[int64]time.Time{} // by connection
		ended := 0
		gone := make(chan struct{})
		defer close(gone)
		cluster.Intercept(func(c Command, run func() bson.Raw) bson.Raw {
			if c.Connection > 1 { // not the monitor's
				<-gone
			}
			return run()
		})
		opts := cluster.Client("minPoolSize=1", "serverMonitoringMode=poll", fmt.Sprint("connectTimeoutMS=", connectTimeout.Milliseconds()))
		connect(t, opts.SetTimeout(time.Second).SetPoolMonitor(&driverevent.PoolMonitor{Event: func(e *driverevent.PoolEvent) {
			mu.Lock()
			defer mu.Unlock()
			switch e.Type {
			case driverevent.ConnectionCreated:
				begun[e.ConnectionID] = time.Now()
			case driverevent.ConnectionClosed:
				assert.Equal(t, connectTimeout, time.Since(begun[e.ConnectionID]).Round(10*time.Millisecond))
				ended++
			}
		}}))
		time.Sleep(19 * time.Second) // the pool is maintained every ten seconds, and a connection that Disconnect ends has no timeout
		mu.Lock()
		defer mu.Unlock()
		assert.Positive(t, ended)
	})
}

// TestSlowServers is about every method that sends several commands, each of which takes less time than the client's Timeout or the context's
// deadline, in every topology and without retries: all of them together end in time. What iterates has the Timeout anew for each Next.
func TestSlowServers(t *testing.T) {
	for name, open := range waitingCalls() {
		var w waiting
		virtually(t, name, func(t *testing.T) { _, w = sendsOf(t, name) })
		for _, topology := range []string{"standalone", "replicaset:1", "sharded:2", "loadbalanced:2"} {
			if topology == "standalone" && (w.commits || strings.Contains(name, "Session.") || strings.Contains(name, "Watch") ||
				strings.Contains(name, "Stream.") || strings.Contains(name, "transaction")) {
				continue // what needs a replica set
			}
			for _, end := range []string{byDeadline, byTimeout} {
				if end == byTimeout && strings.Contains(name, "Next") {
					continue
				}
				virtually(t, strings.Join([]string{name, topology, end}, "/"), func(t *testing.T) { expectInTime(t, name, open, topology, end) })
			}
		}
	}
}

func expectInTime(t *testing.T, name string, open opener, topology, end string) {
	const each = until * 3 / 5 // two of them take too long
	cluster := New(t, Options{Topology: topology, Batch: 1})
	fill(cluster, name)
	opts := cluster.Client("retryReads=false&retryWrites=false")
	ctx := limited(t, opts, end, until)
	client := connect(t, opts)
	require.NoError(t, client.Ping(context.Background(), nil))
	w := open(t, ctx, client, client.Database("db").Collection("c"))
	cluster.Intercept(func(c Command, run func() bson.Raw) bson.Raw {
		if !handshake(c) {
			time.Sleep(each)
		}
		return run()
	})
	start := time.Now()
	err := w.call(ctx)
	took := time.Since(start)
	assert.LessOrEqual(t, took, until+cleanUp+50*time.Millisecond, "%v", err)
	assert.True(t, err == nil || mongo.IsTimeout(err), "%v", err)
	// By WithTransaction, a commit outlives the context.
	assert.True(t, took < until || mongo.IsTimeout(err) || w.mute || w.commits, "%v after %v", err, took)
	cluster.Intercept(nil)
	if w.close != nil {
		_ = w.close(context.Background())
	}
	time.Sleep(time.Minute)
}

// TestTimeoutOfResults is about a getMore of a bulk write's results that gets no reply in time.
func TestTimeoutOfResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := New(t, Options{})
		client := connect(t, cluster.Client("timeoutMS=1000"))
		cluster.Intercept(func(c Command, run func() bson.Raw) bson.Raw {
			switch c.Name {
			case "bulkWrite":
				more := bsondoc.D("id", int64(7), "ns", "admin.$cmd.bulkWrite", "firstBatch", bson.A{})
				return bsondoc.With(run(), bson.E{Key: "cursor", Value: more})
			case "getMore":
				time.Sleep(time.Minute)
			}
			return run()
		})
		write := mongo.ClientBulkWrite{Database: "db", Collection: "c", Model: mongo.NewClientInsertOneModel().SetDocument(bson.D{})}
		_, err := client.BulkWrite(t.Context(), []mongo.ClientBulkWrite{write})
		assert.True(t, mongo.IsTimeout(err), err)
	})
}

var errNotCommitted = errors.New("not to be committed")

// TestEndWithoutAnswer is about WithTransaction and an abort or a commit that is never answered. A commit has what is left of the deadline or
// the Timeout, an abort has that time anew (client-side-operations-timeout.md, "Convenient Transactions API"); after a cancellation an abort
// has 2 seconds, whatever else limits the call, and without any limit 10 seconds.
func TestEndWithoutAnswer(t *testing.T) {
	for _, tt := range []struct {
		commits           bool
		deadline, timeout time.Duration
		cancelled         bool
		before            time.Duration // that the callback takes
		takes             time.Duration
	}{
		{takes: 10 * time.Second},
		{before: 3 * time.Second, takes: 13 * time.Second},
		{cancelled: true, takes: cleanUp},
		{deadline: time.Minute, cancelled: true, takes: cleanUp},
		{timeout: time.Minute, cancelled: true, takes: cleanUp},
		{deadline: time.Second, takes: cleanUp},
		{deadline: 5 * time.Second, takes: 5 * time.Second},
		{timeout: 5 * time.Second, takes: 5 * time.Second},
		{deadline: 5 * time.Second, timeout: 5 * time.Second, takes: 5 * time.Second},
		{deadline: 5 * time.Second, before: 3 * time.Second, takes: 8 * time.Second},
		{deadline: 5 * time.Second, before: 6 * time.Second, takes: 11 * time.Second},
		{timeout: 5 * time.Second, before: 3 * time.Second, takes: 8 * time.Second},
		{commits: true, deadline: 5 * time.Second, takes: 5 * time.Second},
		{commits: true, timeout: 5 * time.Second, takes: 5 * time.Second},
		{commits: true, deadline: 5 * time.Second, timeout: 5 * time.Second, takes: 5 * time.Second},
	} {
		for _, topology := range []string{"replicaset:1", "loadbalanced:1"} {
			virtually(t, fmt.Sprintf("%+v/%s", tt, topology), func(t *testing.T) {
				cluster := New(t, Options{Topology: topology})
				opts, ctx := cluster.Client(), context.Background()
				if tt.deadline > 0 {
					ctx = limited(t, opts, byDeadline, tt.deadline)
				}
				if tt.timeout > 0 {
					limited(t, opts, byTimeout, tt.timeout)
				}
				out := out(opts)
				client := connect(t, opts)
				proceed := held(cluster, func(c Command) bool { return c.Name == "abortTransaction" || c.Name == "commitTransaction" })
				ctx, cancel := context.WithCancel(ctx)
				defer cancel()
				start := time.Now()
				err := client.UseSession(ctx, func(ctx context.Context) error {
					return errorOf(mongo.SessionFromContext(ctx).WithTransaction(ctx, func(ctx context.Context) (any, error) {
						_, err := client.Database("db").Collection("c").InsertOne(ctx, bson.D{})
						require.NoError(t, err)
						time.Sleep(tt.before)
						if tt.cancelled {
							cancel()
						}
						if tt.commits {
							return nil, nil
						}
						return nil, errNotCommitted
					}))
				})
				assert.Equal(t, tt.takes, time.Since(start).Round(10*time.Millisecond))
				assert.Equal(t, !tt.commits, errors.Is(err, errNotCommitted), "%v", err)
				assert.Equal(t, tt.commits, mongo.IsTimeout(err), "%v", err)
				proceed()
				time.Sleep(time.Minute)
				assert.Zero(t, out.Load(), "connections are out")
			})
		}
	}
}
