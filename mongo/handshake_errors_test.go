package mongo

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
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
)

// What becomes of errors in the handshake of a pool's connection, on the wire.

// authenticating is a client that authenticates to a server whose authentication fails at first.
type authenticating struct {
	*Client
	listener *scripted.Listener
	attempts atomic.Int64 // to authenticate

	mu     sync.Mutex
	events []*event.PoolEvent
}

// authenticate returns a client that backs off no time. Its first attempts to authenticate are answered by the failures, in
// order; see scripted.Listener.Answer.
func authenticate(t *testing.T, failures []any, opts ...*options.ClientOptions) *authenticating {
	t.Helper()

	a := &authenticating{listener: scripted.Listen(t, scripted.OK(firstBatch(0)), nil)}
	answer := func(command string) any {
		if command != "saslStart" && command != "authenticate" {
			return nil
		}
		if n := int(a.attempts.Add(1)); n <= len(failures) {
			return failures[n-1]
		}
		return scripted.OK(bson.E{Key: "conversationId", Value: 1}, bson.E{Key: "done", Value: true},
			bson.E{Key: "payload", Value: []byte{}})
	}
	a.listener.Answer.Store(&answer)

	cleared := make(chan struct{}, 10)
	plain := options.Client().ApplyURI(a.listener.URI()).
		SetAuth(options.Credential{AuthMechanism: "PLAIN", Username: "user", Password: "secret"}).
		SetPoolMonitor(&event.PoolMonitor{Event: func(e *event.PoolEvent) {
			a.mu.Lock()
			a.events = append(a.events, e)
			a.mu.Unlock()
			var labelled LabeledError
			switch {
			case e.Type == event.ConnectionPoolCleared:
				cleared <- struct{}{}
			case e.Type != event.ConnectionCheckOutFailed:
			case !errors.As(e.Error, &labelled) || !labelled.HasErrorLabel(driver.ErrSystemOverloadedError):
				// A retry that comes before that may open another connection, see TestRetryBeforeItsPoolIsCleared.
				<-cleared
			}
		}})
	client, err := Connect(append([]*options.ClientOptions{plain}, opts...)...)
	require.NoError(t, err)
	backpressure.PolicyOf(client.deployment).Jitter = func() float64 { return 0 }
	a.Client = client
	t.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	return a
}

// ofType returns the pool's events of a type so far.
func (a *authenticating) ofType(kind string) []*event.PoolEvent {
	a.mu.Lock()
	defer a.mu.Unlock()
	var found []*event.PoolEvent
	for _, e := range a.events {
		if e.Type == kind {
			found = append(found, e)
		}
	}
	return found
}

// TestRetryBeforeItsPoolIsCleared is about a retry that is made while the application is told of the first attempt's failure, before the
// pool is cleared for it. Nobody waits for the application, which may use the client itself.
func TestRetryBeforeItsPoolIsCleared(t *testing.T) {
	for _, kind := range []string{"none", event.ConnectionCheckOutFailed, event.ConnectionClosed} {
		kind := kind
		t.Run("pings in "+kind, func(t *testing.T) {
			t.Parallel()
			var a *authenticating
			var pinged atomic.Bool
			asked := make(chan struct{})
			slow := &event.ServerMonitor{
				ServerDescriptionChanged: func(*event.ServerDescriptionChangedEvent) { time.Sleep(5 * time.Millisecond) },
			}
			uses := &event.PoolMonitor{Event: func(e *event.PoolEvent) {
				if e.Type == kind && pinged.CompareAndSwap(false, true) {
					// Ping is not retried if it finds the pool being cleared. If it is called while the pool is cleared, it waits for a
					// server that is known again only once this function returns.
					ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
					defer cancel()
					_ = a.Ping(ctx, nil)
					close(asked)
				}
			}}
			a = authenticate(t, []any{io.EOF}, options.Client().SetServerMonitor(slow).SetPoolMonitor(uses))
			_, err := a.Database("db").Collection("coll").Find(context.Background(), bson.D{})
			require.NoError(t, err)
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
	for name, run := range map[string]func(*Collection) error{
		"read":  func(c *Collection) error { return c.FindOne(context.Background(), bson.D{}).Err() },
		"write": func(c *Collection) error { return insertAny(context.Background(), c) },
	} {
		run := run
		t.Run(name, func(t *testing.T) {
			var client *Client
			var armed atomic.Bool
			monitor := &event.PoolMonitor{Event: func(e *event.PoolEvent) {
				if e.Type == event.ConnectionCheckOutStarted && armed.CompareAndSwap(true, false) {
					// A command on a connection that breaks clears the pool.
					_ = client.Ping(context.Background(), nil)
				}
			}}
			l := scripted.Listen(t, scripted.OK(firstBatch(0, bson.D{})), nil)
			client, err := Connect(options.Client().ApplyURI(l.URI()).SetPoolMonitor(monitor))
			require.NoError(t, err)
			defer func() { _ = client.Disconnect(context.Background()) }()
			require.NoError(t, client.Ping(context.Background(), nil))

			breakPing := func(command string) any {
				if command == "ping" {
					return io.EOF
				}
				return nil
			}
			l.Answer.Store(&breakPing)
			armed.Store(true)
			require.NoError(t, run(client.Database("db").Collection("coll")))
			assert.False(t, armed.Load())
		})
	}
}

// TestLoadBalancedHandshake is about the hello that a client behind a load balancer sends, as OP_MSG, which has a $db, and the reply of a
// service without a serviceId (load-balancers.md, "Connection Establishment").
func TestLoadBalancedHandshake(t *testing.T) {
	l := scripted.Listen(t, scripted.OK(), nil)
	uri := strings.Replace(l.URI(), "replicaSet=rs", "loadBalanced=true", 1)
	client, err := Connect(options.Client().ApplyURI(uri))
	require.NoError(t, err)
	defer func() { _ = client.Disconnect(context.Background()) }()
	assert.ErrorContains(t, client.Ping(context.Background(), nil),
		"driver attempted to initialize in load balancing mode, but the server does not support this mode")
	require.NotEmpty(t, l.Handshakes())
	hello := l.Handshakes()[0]
	assert.Equal(t, true, hello.Lookup("loadBalanced").Boolean())
	assert.Equal(t, "admin", hello.Lookup("$db").StringValue())
}
