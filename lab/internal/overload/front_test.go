package overload

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/lab/internal/answer"
	"mongofork/lab/internal/clock"
	"mongofork/lab/internal/fronttest"
	"mongofork/lab/internal/proxy"
)

// standalone answers whatever gets to it.
type standalone struct{}

func (standalone) Handle(_ context.Context, req *proxy.Request, reply proxy.ReplyFunc, _ proxy.Next) error {
	return answer.OK(req, reply, bson.E{Key: "isWritablePrimary", Value: true}, bson.E{Key: "helloOk", Value: true},
		bson.E{Key: "maxWireVersion", Value: 27}, bson.E{Key: "minWireVersion", Value: 0})
}

// stopped is a clock that does not go on.
type stopped struct{ clock.System }

func (stopped) Now() time.Time { return time.Unix(0, 0) }

func TestClientBeyondTheLimit(t *testing.T) {
	requests, err := NewRequestLimiter(RequestLimiterConfig{Clock: stopped{}, Limit: one})
	require.NoError(t, err)
	connections, err := NewConnectionLimiter(stopped{}, Unlimited())
	require.NoError(t, err)
	address := fronttest.Serve(t, proxy.Config{Handlers: []proxy.Handler{NewParameters(requests, connections), requests, standalone{}}})
	client, err := mongo.Connect(options.Client().ApplyURI("mongodb://" + address).SetRetryReads(false))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, client.Disconnect(context.Background())) })
	run := func(command bson.D) error { return client.Database("admin").RunCommand(t.Context(), command).Err() }
	ping := bson.D{{Key: "ping", Value: 1}}

	require.NoError(t, run(ping))
	failure := mongo.CommandError{}
	require.ErrorAs(t, run(ping), &failure)
	assert.Equal(t, int32(462), failure.Code)
	assert.ElementsMatch(t, []string{"SystemOverloadedError", "RetryableError", "NoWritesPerformed"}, failure.Labels)
	assert.Equal(t, Counts{Attempted: 2, Admitted: 1, Rejected: 1}, withoutExempted(requests.Counts()))

	require.NoError(t, run(bson.D{{Key: "setParameter", Value: 1}, {Key: "ingressRequestRateLimiterEnabled", Value: false}}))
	require.NoError(t, run(ping))
}

// withoutExempted leaves out what depends on how often the client monitors.
func withoutExempted(counts Counts) Counts {
	counts.Exempted = 0
	return counts
}

func TestConnectionsBeyondTheLimit(t *testing.T) {
	connections, err := NewConnectionLimiter(stopped{}, one)
	require.NoError(t, err)
	address := fronttest.Serve(t, proxy.Config{Acceptors: []proxy.Acceptor{connections}, Handlers: []proxy.Handler{standalone{}}})
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", address)
		require.NoError(t, err)
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	admitted := dial()
	require.Eventually(t, func() bool { return connections.Counts().Admitted == 1 }, 5*time.Second, time.Millisecond)
	rejected := dial()
	require.NoError(t, rejected.SetReadDeadline(time.Now().Add(5*time.Second)))
	_, err = rejected.Read(make([]byte, 1))
	assert.ErrorIs(t, err, io.EOF, "closed without a word")

	require.NoError(t, admitted.SetReadDeadline(time.Now().Add(10*time.Millisecond)))
	_, err = admitted.Read(make([]byte, 1))
	assert.True(t, errors.Is(err, os.ErrDeadlineExceeded), "%v", err)
}
