package mongo

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

func init() { topics["disconnecting"] = true }

func init() { disconnecting = func(s *scripted.Script) { s.Policy.Closing().Begin() } }

// drained is a deployment that records how it is disconnected.
type drained struct {
	*scripted.Script
	name   string
	done   *[]string
	bounds *[]any
}

func (d drained) Drain(context.Context) { *d.done = append(*d.done, "drain "+d.name) }

func (d drained) SelectServer(ctx context.Context, selector description.ServerSelector) (driver.Server, error) {
	*d.done = append(*d.done, "command of "+d.name)
	return d.Script.SelectServer(ctx, selector)
}

func (d drained) Disconnect(ctx context.Context) error {
	*d.done = append(*d.done, "disconnect "+d.name)
	*d.bounds = append(*d.bounds, ctx.Value(closedBy{}))
	return nil
}

// TestDisconnectWithEncryption: all clients that encryption uses are drained before one ends its sessions, and they share one bound.
func TestDisconnectWithEncryption(t *testing.T) {
	var done []string
	var bounds []any
	connect := func(name string) *Client {
		opts := options.Client()
		opts.Deployment = drained{Script: scripted.New(t, scripted.OK(), scripted.OK()), name: name, done: &done, bounds: &bounds}
		client := must(Connect(opts))(t)
		require.NoError(t, client.Ping(bgCtx, nil)) // which makes a session
		return client
	}
	client := connect("client")
	client.keyVaultClientFLE, client.metadataClientFLE = connect("keys"), connect("metadata")
	client.internalClientFLE, client.mongocryptdFLE = connect("internal"), &mongocryptdClient{client: connect("mongocryptd")}
	done = nil
	require.NoError(t, client.Disconnect(bgCtx))
	assert.Equal(t, []string{"drain client", "drain internal", "drain keys", "drain metadata", "drain mongocryptd"}, done[:5])
	assert.Equal(t, 5, strings.Count(fmt.Sprint(done), "command of"), "of endSessions")
	require.Len(t, bounds, 5)
	assert.NotNil(t, bounds[0])
	for _, bound := range bounds {
		assert.Equal(t, bounds[0], bound)
	}
}

// TestEndSessionsAfterARejection is about sessions that three commands would end: the second is rejected, so that the third is not sent.
func TestEndSessionsAfterARejection(t *testing.T) {
	s := scripted.New(t, scripted.Failure(13), scripted.Rejected())
	s.Policy.MaxRetries = 0
	client := connectScript(t, s)
	for i := 0; i <= 2*endSessionsBatchSize; i++ {
		client.sessionPool.ReturnSession(scripted.Session(t).Server)
	}
	require.NoError(t, client.Disconnect(bgCtx))
	s.Finish()
}

// TestTimeToClose is about what closes something without a deadline: the client's Timeout counts, however short, and ten seconds without it.
func TestTimeToClose(t *testing.T) {
	moment, none := time.Nanosecond, time.Duration(0)
	for timeout, want := range map[*time.Duration]time.Duration{nil: 10 * time.Second, &none: 10 * time.Second, &moment: moment} {
		assert.Equal(t, want, timeToClose(timeout))
		now := time.Now()
		ctx, cancel := closingTime(bgCtx, timeout)
		deadline, _ := ctx.Deadline()
		assert.InDelta(t, want.Seconds(), deadline.Sub(now).Seconds(), 0.5)
		cancel()
		assert.Error(t, ctx.Err())
	}
}

// TestEveryMethodOfADisconnectedClient: nothing is sent, and the error says why.
func TestEveryMethodOfADisconnectedClient(t *testing.T) {
	for i, method := range append(sendingMethods(), withSeveralCommands...) {
		if len(method.replies) > 0 {
			continue // it goes on with what was begun
		}
		s := scripted.New(t)
		s.Policy.Closing().Begin()
		assert.ErrorIs(t, method.run(bgCtx, scriptColl(t, s)), ErrClientDisconnected, "%s/%d", method.name, i)
		assert.Empty(t, s.Sent, "%s/%d", method.name, i)
	}
}
