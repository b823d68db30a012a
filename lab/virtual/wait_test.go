package virtual

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/lab/internal/bsondoc"
)

// The ends of a wait.
const (
	byDeadline   = "deadline"
	byTimeout    = "Timeout"
	byCancel     = "cancelled"
	byDisconnect = "Disconnect"
	byGraceful   = "Disconnect with a deadline"
	byRejection  = "rejected beyond the retries"
	byClearing   = "pool cleared"
	byItself     = "no limit"
)

var ends = []string{byDeadline, byTimeout, byCancel, byDisconnect, byGraceful, byRejection, byClearing, byItself}

const (
	prepared = time.Second      // when the call is made
	until    = 3 * time.Second  // when its wait ends, from then on
	cleanUp  = 2 * time.Second  // which the driver may take for what it cleans up
	graceful = 5 * time.Second  // the deadline of a Disconnect
	closing  = 10 * time.Second // which what closes something takes at most if nobody limits it
)

// cell is one call, where it waits, and how that ends.
type cell struct {
	name     string
	sends    sends
	bound    bool
	at       place
	end      string
	topology string
}

// closings are what closes something. What GridFS uploads write, and the end of a transaction, last as long as any other write.
var closings = []string{"Client.Disconnect", "Cursor.Close", "ChangeStream.Close", "GridFSDownloadStream.Close"}

// missing returns why there is no such cell, or nothing.
func (c cell) missing(w waiting) string {
	balanced := strings.HasPrefix(c.topology, "load")
	switch {
	case c.sends.count == 0:
		return "the call sends nothing"
	case c.at.later && c.sends.count < 2:
		return "the call sends one command"
	case w.commits && c.at.later && c.at.sent && (c.end == byDeadline || c.end == byCancel):
		return "a commit by WithTransaction outlives the context"
	case w.disconnects && (c.end == byDisconnect || c.end == byGraceful):
		return "a Disconnect is not ended by another"
	case w.disconnects && (c.at.name == "selection" || c.at.name == "queue" && c.end != byDeadline):
		return "a Disconnect waits for no server and, without a deadline, for no other call"
	case c.end == byItself && !slices.Contains(closings, c.name):
		return "only what closes something has a limit of its own"
	case c.end == byClearing && c.at.rejected:
		return "who is in a backoff needs no pool"
	case c.end == byClearing && balanced:
		return "behind a load balancer no monitor clears a pool"
	default:
		return ""
	}
}

// TestWaits is about every method that waits, wherever it waits, and however that ends: it ends in time, its error tells the cause, and
// nothing stays behind; an iterator goes on behind what it had read. A timeout's text says what the call was waiting for
// (client-side-operations-timeout.md, "Errors").
func TestWaits(t *testing.T) {
	tried, missing := 0, map[string]int{}
	for name, open := range waitingCalls() {
		var s sends
		var w waiting
		virtually(t, name, func(t *testing.T) { s, w = sendsOf(t, name) })
		for _, at := range places {
			for _, topology := range at.topologies() {
				for _, end := range ends {
					c := cell{name: name, sends: s, bound: w.bound, at: at, end: end, topology: topology}
					if why := c.missing(w); why != "" {
						missing[why]++
						continue
					}
					tried++
					virtually(t, strings.Join([]string{name, at.name, end, topology}, "/"), func(t *testing.T) { c.try(t, open) })
				}
			}
		}
	}
	t.Logf("%d calls, %d waits, %d ends: %d cells", len(waitingCalls()), len(places), len(ends), tried)
	t.Logf("there are no others, because: %v", missing)
}

// attempt is a call that has been made to wait, and whose wait has been ended.
type attempt struct {
	cell
	waiting
	cluster *Cluster
	client  *mongo.Client
	out     *atomic.Int32 // connections
	err     error
	took    time.Duration
	early   bool // the call has ended by itself before
	ctx     context.Context
	what    string
}

func (c cell) try(t *testing.T, open opener) {
	settings := c.at.cluster
	settings.Topology, settings.Batch = c.topology, 1
	e := attempt{cell: c, cluster: New(t, settings)}
	fill(e.cluster, c.name)
	opts := c.at.client(e.cluster)
	if c.end == byRejection {
		opts = c.at.client(e.cluster, manyRetries)
	}
	e.out = out(opts)
	if c.end == byTimeout {
		opts.SetTimeout(until)
		if c.bound {
			opts.SetTimeout(prepared + until)
		}
	}
	e.client = connect(t, opts)
	require.NoError(t, e.client.Ping(t.Context(), nil))

	begun := time.Now()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if c.end == byDeadline {
		ctx, cancel = context.WithTimeout(ctx, prepared+until)
		defer cancel()
	}
	e.ctx = ctx
	e.waiting = open(t, ctx, e.client, e.client.Database("db").Collection("c"))
	before := goroutines()
	time.Sleep(100 * time.Millisecond) // longer than maxIdleTimeMS
	release := c.at.make(e.cluster, e.client, c.sends.names)
	t.Cleanup(release)
	time.Sleep(prepared - time.Since(begun))
	disconnected := e.run(cancel, release)
	e.what = fmt.Sprintf("after %v: %T %v", e.took, e.err, e.err)
	e.expectEnd(t)
	e.cluster.Intercept(nil)
	release()
	if disconnected != nil {
		<-disconnected
		return
	}
	if e.disconnects {
		return
	}
	time.Sleep(30 * time.Second) // the servers are known again
	e.expectRest(t)
	time.Sleep(time.Second) // what is read after a timeout
	assert.Zero(t, e.out.Load(), "connections are out, %s", e.what)
	assert.Zero(t, e.client.NumberSessionsInProgress(), "sessions are out, %s", e.what)
	for creator, n := range goroutines() {
		assert.LessOrEqual(t, n, before[creator], "goroutines by %s, %s", creator, e.what)
	}
}

// run makes the call, and ends its wait. If that disconnects the client, it returns what is closed once it is disconnected.
func (e *attempt) run(cancel func(), release func()) (disconnected chan struct{}) {
	endless := time.AfterFunc(time.Minute, func() { // a failure
		cancel()
		e.cluster.Intercept(nil)
		release()
	})
	defer endless.Stop()
	start := time.Now()
	returned := make(chan error, 1)
	go func() {
		err := e.call(e.ctx)
		e.took = time.Since(start)
		returned <- err
	}()
	time.Sleep(until - time.Since(start))
	select {
	case e.err = <-returned:
		e.early = e.took < until
		return nil
	default:
	}
	switch e.end {
	case byCancel:
		cancel()
	case byDisconnect, byGraceful:
		disconnected = make(chan struct{})
		go func() {
			defer close(disconnected)
			leaving := context.Background()
			if e.end == byGraceful {
				var stop func()
				leaving, stop = context.WithTimeout(leaving, graceful)
				defer stop()
			}
			_ = e.client.Disconnect(leaving)
		}()
	case byRejection:
		rejecting(e.cluster, e.sends.names, 0)
		release()
	case byClearing:
		e.cluster.Intercept(nil)
		e.cluster.SetLink(Refusing)
		e.cluster.Reset()
		time.Sleep(100 * time.Millisecond)
		e.cluster.SetLink(Up)
		release()
		if e.survives() {
			time.AfterFunc(5*time.Second, cancel)
		}
	}
	e.err = <-returned
	return disconnected
}

// survives reports whether the call goes on after the wait, for events that do not come.
func (e *attempt) survives() bool {
	return e.end == byClearing && strings.HasPrefix(e.name, "ChangeStream.Next")
}

// expectEnd checks when the call ends, and that its error tells why.
func (e *attempt) expectEnd(t *testing.T) {
	limit := until + cleanUp
	switch {
	case e.end == byItself:
		limit = closing + cleanUp
	case e.commits && e.end == byTimeout:
		limit += until // which the commit has anew
	case e.commits && e.end == byDeadline && e.at.sent:
		limit += prepared + until // which the abort has anew
	case e.end == byGraceful && (e.at.rejected || e.at.sent || e.sends.onlyEnd()): // it waits for backoffs and connections
		limit += graceful
	case e.end == byRejection, e.end == byClearing:
		limit += 10 * time.Second // retries
	}
	assert.LessOrEqual(t, e.took, limit+50*time.Millisecond, e.what)
	rejected := e.end == byRejection || e.at.rejected
	overloaded := hasLabel(e.err, "SystemOverloadedError")
	givenUp := e.at.rejected && overloaded // there was no time for another backoff
	// A cursor's commands go to its server, whose pool is not ready.
	unready := e.at.name == "selection" && poolCleared(e.err) && e.sends.onCursor()
	assert.True(t, !e.early || givenUp || unready || e.mute && rejected, "the call does not wait, %s", e.what)
	assert.True(t, !overloaded || rejected || e.at.establishes || e.end == byClearing, "overloaded, %s", e.what)
	for _, label := range []string{"RetryableError", "NoWritesPerformed"} {
		assert.True(t, !hasLabel(e.err, label) || rejected || e.at.establishes || e.end == byClearing, "%s, %s", label, e.what)
	}
	if e.mute {
		assert.NoError(t, e.err)
		return
	}
	if e.survives() {
		assert.ErrorIs(t, e.err, context.Canceled, e.what)
		return
	}
	cancelled, timeout := errors.Is(e.err, context.Canceled), mongo.IsTimeout(e.err)
	assert.Equal(t, e.end == byCancel && !e.early, cancelled, "context.Canceled, %s", e.what)
	gone := e.end == byDisconnect || e.end == byGraceful
	// In a backoff that is just over, an attempt is under way.
	waitedFor := e.end == byGraceful && givenUp || e.at.rejected && mongo.IsNetworkError(e.err)
	switch {
	case e.end == byDeadline, e.end == byTimeout:
		assert.True(t, timeout || givenUp || unready, "a timeout, %s", e.what)
		assert.True(t, !timeout || strings.Contains(e.err.Error(), e.at.says), "%q, %s", e.at.says, e.what)
		assert.True(t, errors.Is(e.err, context.DeadlineExceeded) || givenUp || unready, "context.DeadlineExceeded, %s", e.what)
	case e.end == byRejection:
		assert.True(t, overloaded || unready, "overloaded, %s", e.what)
	case e.end == byClearing:
		assert.True(t, e.err == nil || mongo.IsNetworkError(e.err) || poolCleared(e.err), "a cleared pool, %s", e.what)
	case gone:
		assert.Error(t, e.err)
	}
	assert.True(t, !timeout || e.end == byDeadline || e.end == byTimeout || e.end == byItself, "a timeout, %s", e.what)
	assert.True(t, !gone && !errors.Is(e.err, mongo.ErrClientDisconnected) || gone && (e.at.sent || e.early || waitedFor || errors.Is(e.err, mongo.ErrClientDisconnected)),
		"ErrClientDisconnected, %s", e.what)
}

func hasLabel(err error, label string) bool {
	var labelled mongo.LabeledError
	return errors.As(err, &labelled) && labelled.HasErrorLabel(label)
}

// poolCleared is what IsPoolClearedError of the fork is about.
func poolCleared(err error) bool {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return slices.ContainsFunc(joined.Unwrap(), poolCleared)
	}
	return err != nil && (fmt.Sprintf("%T", err) == "topology.poolClearedError" || poolCleared(errors.Unwrap(err)))
}

// expectRest checks that an iterator goes on, and that nothing stays open.
func (e *attempt) expectRest(t *testing.T) {
	lost := e.at.sent || e.end == byClearing // a reply
	if e.follows != nil && !(e.cell.bound && e.ctx.Err() != nil) && !(e.cell.bound && e.end == byTimeout) {
		e.expectDocuments(t, lost)
	}
	if e.close != nil {
		assert.NoError(t, e.close(context.Background()), e.what)
	}
	// Of a cursor whose first reply is lost nobody knows. Behind a load balancer, a cursor ends with its connection, and after a killCursors
	// that was rejected there is no other (load-balancers.md, "Behaviour With Cursors").
	balanced := strings.HasPrefix(e.topology, "load")
	rejected := e.at.rejected || e.end == byRejection
	if !(lost && e.sends.opens) && !(balanced && rejected && e.sends.onlyEnd()) {
		time.Sleep(time.Second) // until the server sees the end of a connection
		assert.Zero(t, e.cluster.Cursors(""), "cursors are open, %s", e.what)
	}
}

func (e *attempt) expectDocuments(t *testing.T, lost bool) {
	s := e.follows
	if len(s.read) == 0 { // a stream
		for i := range documents {
			_, err := e.client.Database("db").Collection("c").UpdateOne(context.Background(), id(i), set1)
			require.NoError(t, err)
		}
	}
	want := s.all
	if s.ID() == 0 && len(s.read) < len(want) {
		assert.True(t, lost, "the iterator has ended though nothing can have been lost, %s", e.what)
		return
	}
	err := s.readOn(context.Background(), len(want))
	if err != nil && lost && e.cell.bound {
		want = want[:len(s.read)] // a download that has ended
	} else {
		require.NoError(t, err, e.what)
	}
	assert.Equal(t, want, s.read, "what was read, %s", e.what)
}

// goroutines returns how many of the driver's goroutines there are, by what has started them.
func goroutines() map[string]int {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	creators := map[string]int{}
	for _, stack := range strings.Split(string(stacks), "\n\n") {
		if _, creator, found := strings.Cut(stack, "\ncreated by go.mongodb.org/mongo-driver/"); found {
			creator, _, _ = strings.Cut(creator, " ")
			creators[creator]++
		}
	}
	return creators
}

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
			connect(t, opts.SetServerMonitor(&event.ServerMonitor{
				ServerHeartbeatSucceeded: func(*event.ServerHeartbeatSucceededEvent) { answered.Add(1) },
				ServerHeartbeatFailed:    func(*event.ServerHeartbeatFailedEvent) { failed.Add(1) }}))
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
		connect(t, opts.SetTimeout(time.Second).SetPoolMonitor(&event.PoolMonitor{Event: func(e *event.PoolEvent) {
			mu.Lock()
			defer mu.Unlock()
			switch e.Type {
			case event.ConnectionCreated:
				begun[e.ConnectionID] = time.Now()
			case event.ConnectionClosed:
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
