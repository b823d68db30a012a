package mongo

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/overloadtest"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
)

// What becomes of errors in the handshake of a pool's connection, on the wire.

// authenticating is a client that authenticates to a server whose authentication fails at first.
type authenticating struct {
	*Client
	listener *overloadtest.Listener
	attempts atomic.Int64 // to authenticate

	mu     sync.Mutex
	events []*event.PoolEvent
}

// authenticate returns a client that backs off no time. Its first attempts to authenticate are answered by the failures, in
// order; see overloadtest.Listener.Answer.
func authenticate(t *testing.T, failures []any, opts ...*options.ClientOptions) *authenticating {
	t.Helper()

	a := &authenticating{listener: overloadtest.Listen(t, overloadtest.OK(batch("firstBatch", 0)), nil)}
	answer := func(command string) any {
		if command != "saslStart" {
			return nil
		}
		if n := int(a.attempts.Add(1)); n <= len(failures) {
			return failures[n-1]
		}
		return overloadtest.OK(bson.E{Key: "conversationId", Value: 1}, bson.E{Key: "done", Value: true}, bson.E{Key: "payload", Value: []byte{}})
	}
	a.listener.Answer.Store(&answer)

	plain := options.Client().ApplyURI(a.listener.URI()).
		SetAuth(options.Credential{AuthMechanism: "PLAIN", Username: "user", Password: "secret"}).
		SetPoolMonitor(&event.PoolMonitor{Event: func(e *event.PoolEvent) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.events = append(a.events, e)
		}})
	client, err := Connect(append([]*options.ClientOptions{plain}, opts...)...)
	require.NoError(t, err)
	client.deployment.(driver.OverloadRetrier).OverloadPolicy().Policy.Jitter = func() float64 { return 0 }
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

// TestPoolEventsOfFailedAuthentication is about a connection that the server closes during authentication.
func TestPoolEventsOfFailedAuthentication(t *testing.T) {
	a := authenticate(t, []any{io.EOF})
	err := a.Ping(context.Background(), nil)
	require.Error(t, err)
	assert.True(t, IsNetworkError(err), "got %v", err)
	require.NoError(t, a.Disconnect(context.Background()))
	for _, kind := range []string{event.ConnectionPoolCleared, event.ConnectionClosed, event.ConnectionCheckOutFailed} {
		events := a.ofType(kind)
		require.NotEmpty(t, events, kind)
		assert.True(t, IsNetworkError(events[0].Error), "%s: %v", kind, events[0].Error)
	}
}

// TestRejectedAuthenticationIsNoFailure is about a server that sheds load in the middle of the handshake: it is neither unknown nor
// are its connections unusable.
func TestRejectedAuthenticationIsNoFailure(t *testing.T) {
	for name, reply := range map[string]bson.D{
		"to be retried": overloadtest.Overloaded(),
		"for good":      overloadtest.Failure(473, driver.ErrSystemOverloadedError),
	} {
		reply := reply
		t.Run(name, func(t *testing.T) {
			a := authenticate(t, []any{reply})
			_ = a.Ping(context.Background(), nil)
			require.NoError(t, a.Ping(context.Background(), nil))
			require.NoError(t, a.Disconnect(context.Background()))
			assert.Empty(t, a.ofType(event.ConnectionPoolCleared))
			assert.Len(t, a.ofType(event.ConnectionPoolReady), 1)
		})
	}
}
