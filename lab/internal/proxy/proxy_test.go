package proxy

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/wire"
)

// No compressor gets to the server, so that it does not agree to any.
func TestNothingIsCompressed(t *testing.T) {
	client := startFront(t, Config{}, answering(nil)).dial(t)
	request := command(t, 5, bson.E{Key: "hello", Value: 1}, bson.E{Key: "compression", Value: bson.A{"zstd"}})
	client.send(t, request)
	reply := client.receive(t)
	assert.Equal(t, request.RequestID, reply.ResponseTo)
	asked := reply.Body.Lookup("request").Document()
	assert.Equal(t, "hello", bsondoc.FirstKey(asked))
	assert.False(t, bsondoc.Has(asked, "compression"))
}

func TestUnacknowledgedRequests(t *testing.T) {
	seen := make(chan string, 10)
	front := startFront(t, Config{}, answering(func(m *wire.Message) bson.D {
		seen <- bsondoc.FirstKey(m.Body)
		return bson.D{}
	}))
	unacknowledged := command(t, 1, bson.E{Key: "insert", Value: "c"})
	unacknowledged.Flags = wiremessage.MoreToCome

	client := front.dial(t)
	client.send(t, unacknowledged)
	client.send(t, ping(t, 2))
	assert.Equal(t, int32(2), client.receive(t).ResponseTo, "the first reply is the ping's")
	assert.Equal(t, []string{"insert", "ping"}, []string{<-seen, <-seen})

	gone := front.dial(t)
	for range 2 {
		gone.send(t, unacknowledged)
	}
	require.NoError(t, gone.Close())
	assert.Equal(t, []string{"insert", "insert"}, []string{<-seen, <-seen}, "of a client that is gone")
	_, lines := front.logged()
	assert.Zero(t, lines)
}

// A stream of replies to a hello is a series of requests, each of which names the version of the last reply.
func TestStreamOfHellos(t *testing.T) {
	version := func(n int64) bson.E {
		return bson.E{Key: "topologyVersion", Value: bson.D{{Key: "counter", Value: n}}}
	}
	asked := make(chan int64, 10)
	client := startFront(t, Config{}, answering(func(request *wire.Message) bson.D {
		n := request.Body.Lookup("topologyVersion", "counter").AsInt64()
		asked <- n
		assert.False(t, request.HasFlag(wiremessage.ExhaustAllowed))
		return bson.D{{Key: "ok", Value: n < 3}, version(n + 1)}
	})).dial(t)
	request := command(t, 1, bson.E{Key: "hello", Value: 1}, bson.E{Key: "maxAwaitTimeMS", Value: 500}, version(1))
	request.Flags = wiremessage.ExhaustAllowed
	client.send(t, request)
	answered := request.RequestID
	for n, more := range []bool{true, true, false} {
		reply := client.receive(t)
		assert.Equal(t, more, reply.HasFlag(wiremessage.MoreToCome), "an error ends it")
		assert.Equal(t, answered, reply.ResponseTo)
		answered = reply.RequestID
		assert.EqualValues(t, n+1, <-asked)
	}
}

func TestMisbehaviourEndsTheConnection(t *testing.T) {
	// A message with a right length and an unknown opcode.
	const garbage = "\x10\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x0f\x27\x00\x00"
	for name, tt := range map[string]struct {
		server  func(conversation)
		request string
		log     string
	}{
		"malformed request": {answering(nil), garbage, `error="malformed message: opcode 9999`},
		"malformed reply": {func(c conversation) {
			_, _ = wire.Read(c)
			_, _ = c.Write([]byte(garbage))
			_, _ = wire.Read(c)
		}, "", "backend: malformed message: opcode 9999"},
		"backend closes": {func(c conversation) { _, _ = wire.Read(c) }, "", "backend: EOF"},
	} {
		front := startFront(t, Config{}, tt.server)
		client := front.dial(t)
		if tt.request == "" {
			client.send(t, ping(t, 1))
		} else {
			_, err := client.Write([]byte(tt.request))
			require.NoError(t, err)
		}
		_ = client.end(t)
		text, lines := front.logged()
		assert.Equal(t, 1, lines, name)
		assert.Contains(t, text, tt.log, name)
	}
}

func TestBackendThatIsNotThere(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	front := startFront(t, Config{Backend: address}, nil)
	client := front.dial(t)
	client.send(t, ping(t, 1))
	_ = client.end(t)
	text, _ := front.logged()
	assert.Contains(t, text, "backend: dial tcp "+address)

	assert.ErrorContains(t, New(Config{Backend: address}).Serve(t.Context(), listener), "accept on 127.0.0.1:")
}

// Every way to end leaves no goroutine behind, which TestMain checks.
func TestEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		err   error
		reset bool
		log   int
	}{
		"close": {ErrClose, false, 0}, "reset": {ErrReset, true, 0}, "error": {errors.New("no room"), false, 1},
	} {
		t.Run("acceptor, "+name, func(t *testing.T) {
			connected := make(chan struct{})
			front := startFront(t, Config{Accept: func(context.Context) error {
				<-connected // a connection that is reset at once may fail to be made
				return tt.err
			}}, answering(nil))
			client := front.dial(t)
			close(connected)
			assert.Equal(t, tt.reset, isReset(client.end(t)))
			_, lines := front.logged()
			assert.Equal(t, tt.log, lines)
		})
		t.Run("handler, "+name, func(t *testing.T) {
			front := startFront(t, Config{Handlers: []Handler{
				func(ctx context.Context, req *Request, next Next) (bson.Raw, error) {
					if req.Command == "end" {
						return nil, tt.err
					}
					return next(ctx, req)
				}}}, answering(nil))
			client := front.dial(t)
			client.send(t, ping(t, 1)) // so that there is a connection to the backend, too
			client.receive(t)
			client.send(t, command(t, 2, bson.E{Key: "end", Value: 1}))
			assert.Equal(t, tt.reset, isReset(client.end(t)))
			_, lines := front.logged()
			assert.Equal(t, tt.log, lines)
		})
	}
}

func TestWhoWaitsHoldsUpItsConnectionOnly(t *testing.T) {
	accepted, handled := make(chan struct{}), make(chan struct{})
	var connections atomic.Int32
	front := startFront(t, Config{
		Accept: func(ctx context.Context) error {
			if connections.Add(1) > 1 {
				return nil
			}
			close(accepted)
			<-ctx.Done()
			return ctx.Err()
		},
		Handlers: []Handler{func(ctx context.Context, req *Request, next Next) (bson.Raw, error) {
			if req.Command != "wait" {
				return next(ctx, req)
			}
			handled <- struct{}{}
			<-ctx.Done()
			handled <- struct{}{}
			return nil, ctx.Err()
		}},
	}, answering(nil))
	slow := front.dial(t)
	<-accepted
	waiting := front.dial(t)
	waiting.send(t, command(t, 1, bson.E{Key: "wait", Value: 1}))
	<-handled
	quick := front.dial(t)
	quick.send(t, ping(t, 2))
	quick.receive(t)

	require.NoError(t, waiting.Close())
	<-handled // a handler's context ends with its client
	_, lines := front.logged()
	_ = slow.end(t)
	assert.Zero(t, lines)
}

// A backend that answers nothing holds up no client that leaves, and not the front's end.
func TestBackendThatIsSilent(t *testing.T) {
	asked := make(chan struct{})
	front := startFront(t, Config{}, func(c conversation) {
		_, _ = wire.Read(c)
		asked <- struct{}{}
		_, _ = wire.Read(c)
		asked <- struct{}{}
	})
	client := front.dial(t)
	client.send(t, ping(t, 1))
	<-asked
	require.NoError(t, client.Close())
	<-asked
	other := front.dial(t)
	other.send(t, ping(t, 1))
	<-asked
	_, lines := front.logged()
	<-asked
	assert.Zero(t, lines)
}

func TestResetOfEveryConnection(t *testing.T) {
	front := startFront(t, Config{}, answering(nil))
	clients := []conversation{front.dial(t), front.dial(t)}
	for i, client := range clients {
		client.send(t, ping(t, int32(i)))
		client.receive(t)
	}
	front.Reset()
	for _, client := range clients {
		assert.True(t, isReset(client.end(t)))
	}
	client := front.dial(t)
	client.send(t, ping(t, 1))
	client.receive(t)
	_, lines := front.logged()
	assert.Zero(t, lines)
}
