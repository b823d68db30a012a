package virtual

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
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
)

// paced is a kind of call, whose last command fails whenever it is sent.
type paced struct {
	name, command string
	run           func(ctx context.Context, client *mongo.Client, coll *mongo.Collection) error
	// The specification wants retries at once until a timeout (client-side-operations-timeout.md, "Retries"): of a command that is
	// endless, or that ends a transaction, which has a timeout of its own.
	endless, ends bool
}

var errNotCommitted = errors.New("not to be committed")

// ending is a call that begins a transaction and ends it.
func ending(end func(*mongo.Session, context.Context) error) func(context.Context, *mongo.Client, *mongo.Collection) error {
	return func(ctx context.Context, client *mongo.Client, coll *mongo.Collection) error {
		session, err := client.StartSession()
		if err != nil {
			return err
		}
		if err := session.StartTransaction(); err != nil {
			return err
		}
		if _, err := coll.InsertOne(mongo.NewSessionContext(ctx, session), bson.D{}); err != nil {
			return err
		}
		return end(session, ctx)
	}
}

// within is a call of WithTransaction, whose callback inserts and returns the error.
func within(returned error) func(context.Context, *mongo.Client, *mongo.Collection) error {
	return func(ctx context.Context, client *mongo.Client, coll *mongo.Collection) error {
		session, err := client.StartSession()
		if err != nil {
			return err
		}
		_, err = session.WithTransaction(ctx, func(ctx context.Context) (any, error) {
			_, err := coll.InsertOne(ctx, bson.D{})
			return nil, errors.Join(err, returned)
		})
		return err
	}
}

// reading is a call that reads a cursor of several batches.
func reading(use func(*mongo.Cursor, context.Context) error) func(context.Context, *mongo.Client, *mongo.Collection) error {
	return func(ctx context.Context, _ *mongo.Client, coll *mongo.Collection) error {
		cursor, err := coll.Find(ctx, bson.D{}, options.Find().SetBatchSize(2))
		if err != nil {
			return err
		}
		return use(cursor, ctx)
	}
}

// pacedCalls are one of each kind.
var pacedCalls = []paced{
	{name: "find", command: "find", endless: true, run: func(ctx context.Context, _ *mongo.Client, coll *mongo.Collection) error {
		return coll.FindOne(ctx, bson.D{}).Err()
	}},
	{name: "insert", command: "insert", endless: true, run: func(ctx context.Context, _ *mongo.Client, coll *mongo.Collection) error {
		_, err := coll.InsertOne(ctx, bson.D{})
		return err
	}},
	{name: "client bulk write", command: "bulkWrite", endless: true,
		run: func(ctx context.Context, client *mongo.Client, _ *mongo.Collection) error {
			_, err := client.BulkWrite(ctx, []mongo.ClientBulkWrite{
				{Database: "db", Collection: "c", Model: mongo.NewClientInsertOneModel().SetDocument(bson.D{})},
			})
			return err
		}},
	{name: "updateMany", command: "update", run: func(ctx context.Context, _ *mongo.Client, coll *mongo.Collection) error {
		_, err := coll.UpdateMany(ctx, bson.D{}, bson.D{{Key: "$set", Value: bson.D{{Key: "x", Value: 1}}}})
		return err
	}},
	{name: "runCommand", command: "ping", run: func(ctx context.Context, client *mongo.Client, _ *mongo.Collection) error {
		return client.Ping(ctx, nil)
	}},
	{name: "create", command: "create", run: func(ctx context.Context, client *mongo.Client, _ *mongo.Collection) error {
		return client.Database("db").CreateCollection(ctx, "other")
	}},
	{name: "next", command: "getMore", run: reading(func(c *mongo.Cursor, ctx context.Context) error {
		for c.Next(ctx) {
		}
		return c.Err()
	})},
	{name: "close", command: "killCursors", run: reading((*mongo.Cursor).Close)},
	{name: "commit", command: "commitTransaction", ends: true, run: ending((*mongo.Session).CommitTransaction)},
	{name: "abort", command: "abortTransaction", ends: true, run: ending((*mongo.Session).AbortTransaction)},
	{name: "end session", command: "abortTransaction", ends: true, run: ending(func(s *mongo.Session, ctx context.Context) error {
		s.EndSession(ctx)
		return nil
	})},
	{name: "WithTransaction, insert", command: "insert", run: within(nil)},
	{name: "WithTransaction, commit", command: "commitTransaction", ends: true, run: within(nil)},
	{name: "WithTransaction, abort", command: "abortTransaction", ends: true, run: within(errNotCommitted)},
	{name: "disconnect", command: "endSessions", run: func(ctx context.Context, client *mongo.Client, coll *mongo.Collection) error {
		_ = coll.FindOne(ctx, bson.D{}).Err()
		return client.Disconnect(ctx)
	}},
}

// TestPace is about commands that fail at once, whenever they are sent, until the call's time is up: no call may send them, or open
// connections, without pause, unless the specification wants that.
func TestPace(t *testing.T) {
	if _, fork := reflect.TypeFor[*options.ClientOptions]().MethodByName("SetAdaptiveThrottling"); !fork {
		t.Skip("upstream's driver, which makes thousands of attempts without a pause")
	}
	fails := func(code int32) Hook {
		return func(command Command, _ func() bson.Raw) bson.Raw { return Fail(command, code) }
	}
	failures := map[string]Hook{
		"closed connection": func(Command, func() bson.Raw) bson.Raw { return nil },
		"shutdown":          fails(91),
		"no primary":        fails(10107),
	}
	for _, deadline := range []string{"", "timeoutMS", "context"} {
		for failure, fail := range failures {
			for _, topology := range []string{"replicaset:1", "loadbalanced:2"} {
				for _, call := range pacedCalls {
					if call.ends && deadline != "" {
						continue
					}
					t.Run(strings.Join([]string{call.name, failure, deadline, topology}, "/"), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) { call.expect(t, topology, deadline, fail) })
					})
				}
			}
		}
	}
}

// expect makes the call and counts the commands and the new connections.
func (p paced) expect(t *testing.T, topology, deadline string, fail Hook) {
	limit := 5 * time.Second
	if p.endless && deadline != "" {
		limit /= 50
	}
	cluster := New(t, Options{Topology: topology})
	for i := range 10 {
		cluster.Put("db.c", id(i))
	}
	cluster.Intercept(func(c Command, run func() bson.Raw) bson.Raw {
		if c.Name == p.command {
			return fail(c, run)
		}
		return run()
	})
	var connections atomic.Int32
	ctx, opts := t.Context(), cluster.Client("serverSelectionTimeoutMS=1000")
	switch deadline {
	case "context":
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	case "timeoutMS":
		opts.SetTimeout(limit)
	}
	client := connect(t, opts.SetPoolMonitor(&driverevent.PoolMonitor{Event: func(e *driverevent.PoolEvent) {
		if e.Type == driverevent.ConnectionCreated {
			connections.Add(1)
		}
	}}))
	start := time.Now()
	err := p.run(ctx, client, client.Database("db").Collection("c"))
	took := time.Since(start)
	cluster.Intercept(nil)

	sent := cluster.Count(p.command)
	what := fmt.Sprintf("%d commands, %d connections, %v: %v", sent, connections.Load(), took, err)
	if p.endless && deadline != "" {
		assert.LessOrEqual(t, took, limit+time.Millisecond, what)
		return
	}
	// Backoffs of transactions grow to 250 ms on average in half a second; each is followed by two commands, which need connections.
	most := 32 + 16*int(took/time.Second)
	assert.LessOrEqual(t, sent, most, what)
	assert.LessOrEqual(t, int(connections.Load()), most, what)
	if deadline != "" {
		assert.LessOrEqual(t, took, 2*limit, what)
	}
}

// TestTimeoutOfTheEnd is about WithTransaction and a server that never answers a commit or an abort: the context's deadline, or the client's
// Timeout, ends the commit; the abort has that time anew (client-side-operations-timeout.md, "Convenient Transactions API").
func TestTimeoutOfTheEnd(t *testing.T) {
	needsFork(t)
	for end, returned := range map[string]error{"commitTransaction": nil, "abortTransaction": errNotCommitted} {
		for _, how := range []string{byDeadline, byTimeout, "both"} {
			for _, topology := range []string{"replicaset:1", "loadbalanced:1"} {
				t.Run(end+"/"+how+"/"+topology, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { expectEnd(t, end, returned, how, topology) })
				})
			}
		}
	}
}

func expectEnd(t *testing.T, end string, returned error, how, topology string) {
	const timeout = 5 * time.Second
	cluster := New(t, Options{Topology: topology})
	opts, ctx := cluster.Client(), context.Background()
	if how != byDeadline {
		opts.SetTimeout(timeout)
	}
	out := out(opts)
	client := connect(t, opts)
	require.NoError(t, client.Ping(ctx, nil))
	proceed := held(cluster, func(c Command) bool { return c.Name == end })
	if how != byTimeout {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	start := time.Now()
	err := within(returned)(ctx, client, client.Database("db").Collection("c"))
	require.Error(t, err)
	assert.Equal(t, timeout, time.Since(start).Round(10*time.Millisecond), "%v", err)
	assert.Equal(t, end == "commitTransaction", mongo.IsTimeout(err), "%v", err)
	proceed()
	time.Sleep(time.Minute)
	assert.Zero(t, out.Load(), "connections are out")
}

// TestAbortWithoutAnswer is about WithTransaction and an abort that is never answered: after a cancellation it has 2 seconds, whatever
// else limits the call, and without any limit 10 seconds.
func TestAbortWithoutAnswer(t *testing.T) {
	needsFork(t)
	for _, tt := range []struct {
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
		{deadline: 5 * time.Second, before: 3 * time.Second, takes: 8 * time.Second},
		{deadline: 5 * time.Second, before: 6 * time.Second, takes: 11 * time.Second},
		{timeout: 5 * time.Second, before: 3 * time.Second, takes: 8 * time.Second},
	} {
		t.Run(fmt.Sprint(tt.deadline, tt.timeout, tt.cancelled, tt.before), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := New(t, Options{Topology: "replicaset:1"})
				opts := cluster.Client()
				if tt.timeout > 0 {
					opts.SetTimeout(tt.timeout)
				}
				client := connect(t, opts)
				proceed := held(cluster, func(c Command) bool { return c.Name == "abortTransaction" })
				defer proceed()
				session, err := client.StartSession()
				require.NoError(t, err)
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				if tt.deadline > 0 {
					var end context.CancelFunc
					ctx, end = context.WithTimeout(ctx, tt.deadline)
					defer end()
				}
				start := time.Now()
				_, err = session.WithTransaction(ctx, func(ctx context.Context) (any, error) {
					_, err := client.Database("db").Collection("c").InsertOne(ctx, bson.D{})
					require.NoError(t, err)
					time.Sleep(tt.before)
					if tt.cancelled {
						cancel()
					}
					return nil, errNotCommitted
				})
				assert.ErrorIs(t, err, errNotCommitted)
				assert.Equal(t, tt.takes, time.Since(start).Round(10*time.Millisecond))
			})
		})
	}
}
