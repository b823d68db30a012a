package mongo

import (
	"context"
	"errors"
	"io"
	"math"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"
)

// What becomes of errors in the handshake of a pool's connection, on the wire.

// authenticate returns a client that backs off no time, and its server. Its first attempts to authenticate are answered by the failures, in
// order; see scripted.Listener.Answer.
func authenticate(t *testing.T, failures []any, opts ...*options.ClientOptions) (*Client, *scripted.Listener) {
	t.Helper()
	l := scripted.Listen(t, scripted.OK(firstBatch(0)), nil)
	var attempts atomic.Int64
	answer := func(command string) any {
		if command != "saslStart" && command != "authenticate" {
			return nil
		}
		if n := int(attempts.Add(1)); n <= len(failures) {
			return failures[n-1]
		}
		return scripted.OK(bson.E{Key: "conversationId", Value: 1}, bson.E{Key: "done", Value: true},
			bson.E{Key: "payload", Value: []byte{}})
	}
	l.Answer.Store(&answer)

	cleared := make(chan struct{}, 10)
	plain := options.Client().ApplyURI(l.URI()).
		SetAuth(options.Credential{AuthMechanism: "PLAIN", Username: "user", Password: "secret"}).
		SetPoolMonitor(&event.PoolMonitor{Event: func(e *event.PoolEvent) {
			switch {
			case e.Type == event.ConnectionPoolCleared:
				cleared <- struct{}{}
			case e.Type == event.ConnectionCheckOutFailed && !errorHasLabel(e.Error, driver.ErrSystemOverloadedError):
				// A retry that comes before that may open another connection, see TestRetryBeforeItsPoolIsCleared.
				<-cleared
			}
		}})
	client := must(Connect(append([]*options.ClientOptions{plain}, opts...)...))(t)
	backpressure.PolicyOf(client.deployment).Jitter = func() float64 { return 0 }
	t.Cleanup(func() { _ = client.Disconnect(bgCtx) })
	return client, l
}

// TestRetryBeforeItsPoolIsCleared is about a retry that is made while the application is told of the first attempt's failure, before the
// pool is cleared for it. Nobody waits for the application, which may use the client itself.
func TestRetryBeforeItsPoolIsCleared(t *testing.T) {
	for _, kind := range []string{"none", event.ConnectionCheckOutFailed, event.ConnectionClosed} {
		kind := kind
		t.Run("pings in "+kind, func(t *testing.T) {
			t.Parallel()
			var client *Client
			var pinged atomic.Bool
			asked := make(chan struct{})
			slow := &event.ServerMonitor{
				ServerDescriptionChanged: func(*event.ServerDescriptionChangedEvent) { time.Sleep(5 * time.Millisecond) },
			}
			uses := &event.PoolMonitor{Event: func(e *event.PoolEvent) {
				if e.Type == kind && pinged.CompareAndSwap(false, true) {
					// Ping is not retried if it finds the pool being cleared. If it is called while the pool is cleared, it waits for a
					// server that is known again only once this function returns.
					ctx, cancel := context.WithTimeout(bgCtx, 100*time.Millisecond)
					defer cancel()
					_ = client.Ping(ctx, nil)
					close(asked)
				}
			}}
			client, _ = authenticate(t, []any{io.EOF}, options.Client().SetServerMonitor(slow).SetPoolMonitor(uses))
			require.NoError(t, second(client.Database("db").Collection("coll").Find(bgCtx, bson.D{})))
			if kind != "none" {
				select {
				case <-asked: // the pool may close the connection later
				case <-time.After(10 * time.Second):
					t.Error("the event did not come")
				}
			}
		})
	}
}

// TestPausedPoolIsRetried is about a pool that is cleared after its server was selected.
func TestPausedPoolIsRetried(t *testing.T) {
	for name, run := range map[string]func(context.Context, *Collection) error{
		"read": calling("Collection.FindOne", anything), "write": insertAny,
	} {
		var client *Client
		var armed atomic.Bool
		monitor := &event.PoolMonitor{Event: func(e *event.PoolEvent) {
			if e.Type == event.ConnectionCheckOutStarted && armed.CompareAndSwap(true, false) {
				// A command on a connection that breaks clears the pool.
				_ = client.Ping(bgCtx, nil)
			}
		}}
		l := scripted.Listen(t, scripted.OK(firstBatch(0, bson.D{})), nil)
		client = must(Connect(options.Client().ApplyURI(l.URI()).SetPoolMonitor(monitor)))(t)
		defer func() { _ = client.Disconnect(bgCtx) }()
		require.NoError(t, client.Ping(bgCtx, nil))

		breakPing := func(command string) any {
			if command == "ping" {
				return io.EOF
			}
			return nil
		}
		l.Answer.Store(&breakPing)
		armed.Store(true)
		require.NoError(t, run(bgCtx, client.Database("db").Collection("coll")), name)
		assert.False(t, armed.Load(), name)
	}
}

// TestLoadBalancedHandshake is about the hello that a client behind a load balancer sends, as OP_MSG, which has a $db, and the reply of a
// service without a serviceId (load-balancers.md, "Connection Establishment").
func TestLoadBalancedHandshake(t *testing.T) {
	l := scripted.Listen(t, scripted.OK(), nil)
	uri := strings.Replace(l.URI(), "replicaSet=rs", "loadBalanced=true", 1)
	client := must(Connect(options.Client().ApplyURI(uri)))(t)
	defer func() { _ = client.Disconnect(bgCtx) }()
	assert.ErrorContains(t, client.Ping(bgCtx, nil),
		"driver attempted to initialize in load balancing mode, but the server does not support this mode")
	require.NotEmpty(t, l.Handshakes())
	hello := l.Handshakes()[0]
	assert.Equal(t, true, hello.Lookup("loadBalanced").Boolean())
	assert.Equal(t, "admin", hello.Lookup("$db").StringValue())
}

// retryableWrites are those of the single commands.
var retryableWrites = regexp.MustCompile("^(InsertOne|InsertMany|DeleteOne|UpdateOne|FindOneAndDelete|BulkWrite|client BulkWrite)$")

// TestWriteWithoutConnectionIsLabelled is about the label of a write that gets no connection (retryable-writes.md,
// "RetryableWriteError Labels"). Within a transaction there is none.
func TestWriteWithoutConnectionIsLabelled(t *testing.T) {
	for name, err := range map[string]error{
		"paused": scripted.PoolPaused(), "cleared": scripted.PoolCleared{}, "closed in the handshake": scripted.ClosedHandshake(),
	} {
		none := scripted.NoConnection{Err: err}
		for method, run := range singleCommands {
			if !retryableWrites.MatchString(method) || method == "client BulkWrite" && !topics["outcomes"] {
				continue
			}
			for attempts, retries := range map[int]bool{1: false, 2: true} {
				s := scripted.New(t, scripted.Repeat(attempts, none)...)
				s.Policy.RetryWrites = retries
				err := run(bgCtx, scriptColl(t, s, options.Client().SetRetryWrites(retries)))
				require.Error(t, err)
				assert.Equal(t, retries, errorHasLabel(err, driver.RetryableWriteError), "%s/%s: got %T (%v)", name, method, err, err)
				s.Finish()
			}
			s := newShardedScript(t, scripted.OK(), none, scripted.OK())
			inTransaction(t, s, func(ctx context.Context, session *Session, coll *Collection) {
				require.NoError(t, insertAny(ctx, coll))
				err := run(ctx, coll)
				assert.False(t, errorHasLabel(err, driver.RetryableWriteError), "%s/%s: got %T (%v)", name, method, err, err)
				assert.True(t, errorHasLabel(err, driver.TransientTransactionError), "%s/%s: got %T (%v)", name, method, err, err)
				require.NoError(t, session.AbortTransaction(ctx))
			})
		}
	}
}

// TestFailedAuthenticationIsLabelled is the same on the wire. The error stays of the types that it has without the label.
func TestFailedAuthenticationIsLabelled(t *testing.T) {
	for name, run := range singleCommands {
		client, _ := authenticate(t, []any{io.EOF, io.EOF})
		err := run(bgCtx, client.Database("db").Collection("coll"))
		assert.Equal(t, retryableWrites.MatchString(name), errorHasLabel(err, driver.RetryableWriteError), "%s: got %T (%v)", name, err, err)
		assert.True(t, IsNetworkError(err), "%s: got %T (%v)", name, err, err)
		assert.True(t, errors.As(err, new(topology.ConnectionError)), "%s: got %T (%v)", name, err, err)
	}
	client, _ := authenticate(t, []any{scripted.Failure(18)})
	err := insertAny(bgCtx, client.Database("db").Collection("coll"))
	require.Error(t, err)
	assert.False(t, errorHasLabel(err, driver.RetryableWriteError), "a server's refusal: got %T (%v)", err, err)
}

// TestClosedHelloIsLabelled is about connections that a server which limits their rate closes before authentication
// (connection-monitoring-and-pooling.md, "Backpressure-enabled").
func TestClosedHelloIsLabelled(t *testing.T) {
	for name, run := range singleCommands {
		client, l := authenticate(t, nil, options.Client().SetMaxConnIdleTime(time.Nanosecond))
		require.NoError(t, client.Ping(bgCtx, nil))
		l.Refuse.Store(math.MaxInt64)
		err := run(bgCtx, client.Database("db").Collection("coll"))
		l.Refuse.Store(0)
		for _, label := range []string{driver.NetworkError, driver.ErrSystemOverloadedError, driver.ErrRetryableError} {
			assert.True(t, errorHasLabel(err, label), "%s: %s of %T (%v)", name, label, err, err)
		}
	}
}

// TestOuterLabelsChangeACopy is about errors that share the array of their labels.
func TestOuterLabelsChangeACopy(t *testing.T) {
	array, outer := []string{driver.NetworkError, "untouched"}, []string{driver.RetryableWriteError, driver.ErrSystemOverloadedError}
	err := withOuterLabels(CommandError{Labels: array[:1]}, driver.Error{Labels: outer})
	assert.Equal(t, append(array[:1:1], outer...), err.(CommandError).Labels)
	assert.Equal(t, "untouched", array[1])
}
