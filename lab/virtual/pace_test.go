package virtual

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	driverevent "go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// paced is a kind of call, one command of which fails whenever it is sent.
type paced struct {
	name, command string
	open          opener // unless it is that of the call that waits, of this name
	// The specification wants retries at once until a timeout (client-side-operations-timeout.md, "Retries"): of a command that is
	// endless, or that ends a transaction, which has a timeout of its own.
	endless, ends bool
}

var errNotCommitted = errors.New("not to be committed")

// aborting is a call of WithTransaction whose callback fails.
func aborting(ctx context.Context, client *mongo.Client, coll *mongo.Collection) error {
	return client.UseSession(ctx, func(ctx context.Context) error {
		return errorOf(mongo.SessionFromContext(ctx).WithTransaction(ctx, func(ctx context.Context) (any, error) {
			return nil, errors.Join(errorOf(coll.InsertOne(ctx, bson.D{})), errNotCommitted)
		}))
	})
}

// pacedCalls are one of each kind.
var pacedCalls = []paced{
	{name: "Collection.FindOne", command: "find", endless: true},
	{name: "Collection.InsertOne", command: "insert", endless: true},
	{name: "Client.BulkWrite", command: "bulkWrite", endless: true},
	{name: "Collection.UpdateMany", command: "update"},
	{name: "Client.Ping", command: "ping"},
	{name: "Database.CreateCollection", command: "create"},
	{name: "Cursor.Next", command: "getMore"},
	{name: "Cursor.Close", command: "killCursors"},
	{name: "Session.CommitTransaction", command: "commitTransaction", ends: true},
	{name: "Session.AbortTransaction", command: "abortTransaction", ends: true},
	{name: "Session.EndSession", command: "abortTransaction", ends: true},
	{name: "Session.WithTransaction", command: "insert"},
	{name: "Session.WithTransaction", command: "commitTransaction", ends: true},
	{name: "Session.WithTransaction, which aborts", command: "abortTransaction", ends: true, open: once(false, aborting)},
	{name: "Client.Disconnect", command: "endSessions"},
}

// TestPace is about commands that fail at once, whenever they are sent, until the call's time is up: no call may send them, or open
// connections, without pause, unless the specification wants that.
func TestPace(t *testing.T) {
	for _, end := range []string{byItself, byTimeout, byDeadline} {
		for failure, fail := range map[string]Hook{
			"closed connection": func(Command, func() bson.Raw) bson.Raw { return nil },
			"shutdown":          func(c Command, _ func() bson.Raw) bson.Raw { return Fail(c, 91) },
			"no primary":        func(c Command, _ func() bson.Raw) bson.Raw { return Fail(c, 10107) },
		} {
			for _, topology := range []string{"replicaset:1", "loadbalanced:2"} {
				for _, call := range pacedCalls {
					if call.ends && end != byItself {
						continue
					}
					name := strings.Join([]string{call.name, call.command, failure, end, topology}, "/")
					virtually(t, name, func(t *testing.T) { call.expect(t, topology, end, fail) })
				}
			}
		}
	}
}

// expect makes the call and counts the commands and the new connections.
func (p paced) expect(t *testing.T, topology, end string, fail Hook) {
	limit := 5 * time.Second
	if p.endless && end != byItself {
		limit /= 50
	}
	cluster := New(t, Options{Topology: topology})
	fill(cluster, p.name)
	var connections atomic.Int32
	ctx, opts := t.Context(), cluster.Client("serverSelectionTimeoutMS=1000")
	if end != byItself {
		ctx = limited(t, opts, end, limit)
	}
	client := connect(t, opts.SetPoolMonitor(&driverevent.PoolMonitor{Event: func(e *driverevent.PoolEvent) {
		if e.Type == driverevent.ConnectionCreated {
			connections.Add(1)
		}
	}}))
	require.NoError(t, client.Ping(ctx, nil))
	open := p.open
	if open == nil {
		open = waitingCalls()[p.name]
	}
	w := open(t, ctx, client, client.Database("db").Collection("c"))
	cluster.Intercept(func(c Command, run func() bson.Raw) bson.Raw {
		if c.Name == p.command {
			return fail(c, run)
		}
		return run()
	})
	before := cluster.Count(p.command)
	start := time.Now()
	err := w.call(ctx)
	took := time.Since(start)
	cluster.Intercept(nil)

	sent := cluster.Count(p.command) - before
	what := fmt.Sprintf("%d commands, %d connections, %v: %v", sent, connections.Load(), took, err)
	if p.endless && end != byItself {
		assert.LessOrEqual(t, took, limit+time.Millisecond, what)
		return
	}
	// Backoffs of transactions grow to 250 ms on average in half a second; each is followed by two commands, which need connections.
	most := 32 + 16*int(took/time.Second)
	assert.LessOrEqual(t, sent, most, what)
	assert.LessOrEqual(t, int(connections.Load()), most, what)
	if end != byItself {
		assert.LessOrEqual(t, took, 2*limit, what)
	}
}

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
