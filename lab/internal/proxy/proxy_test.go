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

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/wire"
)

func TestForward(t *testing.T) {
	sequence := command(t, -5, bson.E{Key: "insert", Value: "c"})
	sequence.Sequences = []wire.Sequence{{Identifier: "documents", Documents: []bson.Raw{sequence.Body}}}
	client := startFront(t, Config{}, answering(echo)).dial(t)
	for name, request := range map[string]*wire.Message{
		"OP_MSG":   ping(t, 2),
		"sequence": sequence,
		"OP_QUERY": {RequestID: 77, Legacy: true, Namespace: "admin.$cmd", Body: ping(t, 1).Body},
	} {
		client.send(t, request)
		reply := client.receive(t)
		assert.Equal(t, request.RequestID, reply.ResponseTo, name)
		assert.Equal(t, request.Legacy, reply.Legacy, name)
		assert.Equal(t, request.Body, reply.Body.Lookup("request").Document(), name)
	}
}

// No compressor gets to the server, so that it does not agree to any.
func TestNothingIsCompressed(t *testing.T) {
	client := startFront(t, Config{}, answering(echo)).dial(t)
	client.send(t, command(t, 1, bson.E{Key: "hello", Value: 1}, bson.E{Key: "compression", Value: bson.A{"zstd"}}))
	asked := client.receive(t).Body.Lookup("request").Document()
	assert.Equal(t, "hello", bsondoc.FirstKey(asked))
	assert.False(t, bsondoc.Has(asked, "compression"))
}

func TestUnacknowledgedRequests(t *testing.T) {
	seen := make(chan string, 10)
	front := startFront(t, Config{}, answering(func(m *wire.Message) []*wire.Message {
		seen <- bsondoc.FirstKey(m.Body)
		return echo(m)
	}))
	unacknowledged := command(t, 1, bson.E{Key: "insert", Value: "c"})
	unacknowledged.Flags = wire.MoreToCome

	client := front.dial(t)
	client.send(t, unacknowledged)
	client.send(t, ping(t, 2))
	assert.Equal(t, int32(2), client.receive(t).ResponseTo, "the first reply is the ping's")
	assert.Equal(t, []string{"insert", "ping"}, []string{<-seen, <-seen})

	gone := front.dial(t)
	gone.send(t, unacknowledged)
	require.NoError(t, gone.Close())
	assert.Equal(t, "insert", <-seen, "of a client that is gone")
	_, lines := front.logged()
	assert.Zero(t, lines)
}

// A stream of replies to a hello is a series of requests, each of which names the version of the last reply.
func TestStreamOfHellos(t *testing.T) {
	var known []int64
	asked := make(chan int64, 10)
	client := startFront(t, Config{}, answering(func(request *wire.Message) []*wire.Message {
		n := request.Body.Lookup("topologyVersion", "counter").AsInt64()
		asked <- n
		assert.False(t, request.HasFlag(wire.ExhaustAllowed))
		reply := echo(request)[0]
		reply.Body = command(t, 1, bson.E{Key: "ok", Value: n < 3},
			bson.E{Key: "topologyVersion", Value: bson.D{{Key: "counter", Value: n + 1}}}).Body
		return []*wire.Message{reply}
	})).dial(t)
	request := command(t, 1, bson.E{Key: "hello", Value: 1}, bson.E{Key: "maxAwaitTimeMS", Value: 500},
		bson.E{Key: "topologyVersion", Value: bson.D{{Key: "counter", Value: int64(1)}}})
	request.Flags = wire.ExhaustAllowed
	client.send(t, request)
	for _, more := range []bool{true, true, false} {
		assert.Equal(t, more, client.receive(t).HasFlag(wire.MoreToCome), "an error ends it")
		known = append(known, <-asked)
	}
	assert.Equal(t, []int64{1, 2, 3}, known)
}

func TestExhaust(t *testing.T) {
	client := startFront(t, Config{}, answering(func(request *wire.Message) []*wire.Message {
		first, second := echo(request)[0], echo(request)[0]
		first.Flags = wire.MoreToCome
		return []*wire.Message{first, second}
	})).dial(t)
	request := ping(t, 41)
	request.Flags = wire.ExhaustAllowed
	for range 2 {
		client.send(t, request)
		first := client.receive(t)
		assert.Equal(t, int32(41), first.ResponseTo)
		assert.True(t, first.HasFlag(wire.MoreToCome))
		second := client.receive(t)
		assert.Equal(t, first.RequestID, second.ResponseTo)
		assert.False(t, second.HasFlag(wire.MoreToCome))
	}
}

// garbage is a message with a right length and an unknown opcode.
const garbage = "\x10\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x0f\x27\x00\x00"

func TestMisbehaviourEndsTheConnection(t *testing.T) {
	for name, tt := range map[string]struct {
		server func(conversation)
		client func(conversation)
		log    string
	}{
		"malformed request": {client: func(c conversation) { _, _ = c.Write([]byte(garbage)) },
			log: "request: malformed message: opcode 9999"},
		"not a command": {client: func(c conversation) {
			_ = wire.Write(c, &wire.Message{Legacy: true, Namespace: "d.c", Body: bson.Raw{5, 0, 0, 0, 0}})
		}, log: "only commands are served, on <database>.$cmd"},
		"malformed reply": {server: func(c conversation) {
			_, _ = wire.Read(c)
			_, _ = c.Write([]byte(garbage))
			_,
				_ = wire.Read(c)
		},
			log: "backend: malformed message: opcode 9999"},
		"backend closes": {server: func(c conversation) { _, _ = wire.Read(c) }, log: "backend: it closed the connection"},
		"unasked reply": {server: answering(func(m *wire.Message) []*wire.Message { return append(echo(m), echo(m)...) }),
			log: "a reply that nobody asked for"},
	} {
		if tt.server == nil {
			tt.server = answering(echo)
		}
		front := startFront(t, Config{}, tt.server)
		client := front.dial(t)
		if tt.client == nil {
			client.send(t, ping(t, 1))
		} else {
			tt.client(client)
		}
		client.expectEnd(t)
		text, lines := front.logged()
		assert.Equal(t, 1, lines, name)
		assert.Contains(t, text, tt.log, name)
	}
}

func TestBackendThatIsNotThere(t *testing.T) {
	listener := listen(t)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	front := startFront(t, Config{Backend: address}, nil)
	client := front.dial(t)
	client.send(t, ping(t, 1))
	client.expectEnd(t)
	text, _ := front.logged()
	assert.Contains(t, text, "backend: dial tcp "+address)

	assert.ErrorContains(t, New(Config{Backend: address}).Serve(t.Context(), listener), "accept on 127.0.0.1:")
}

func TestBackendClosesAfterAReply(t *testing.T) {
	front := startFront(t, Config{}, func(c conversation) {
		request, err := wire.Read(c)
		if err == nil {
			_ = wire.Write(c, echo(request)[0])
		}
	})
	for range 20 { // the reply must not lose a race against the end
		client := front.dial(t)
		client.send(t, ping(t, 1))
		client.receive(t)
		client.expectEnd(t)
	}
}

type acceptFunc func(context.Context) error

func (f acceptFunc) Accept(ctx context.Context, _ net.Conn) error { return f(ctx) }

type handleFunc func(context.Context, *Request, ReplyFunc, Next) error

func (f handleFunc) Handle(ctx context.Context, req *Request, reply ReplyFunc, next Next) error {
	return f(ctx, req, reply, next)
}

// Every way to end leaves no goroutine behind, which TestMain checks.
func TestEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		err error
		end func(conversation, testing.TB)
		log int
	}{
		"close": {ErrClose, conversation.expectEnd, 0},
		"reset": {ErrReset, conversation.expectReset, 0},
		"error": {errors.New("no room"), conversation.expectEnd, 1},
	} {
		t.Run("acceptor, "+name, func(t *testing.T) {
			connected, order := make(chan struct{}), make(chan string, 3)
			acceptor := func(name string, err error) Acceptor {
				return acceptFunc(func(context.Context) error {
					<-connected // a connection that is reset at once may fail to be made
					order <- name
					return err
				})
			}
			front := startFront(t, Config{Acceptors: []Acceptor{
				acceptor("first", nil), acceptor("second", tt.err), acceptor("third", nil),
			}}, answering(echo))
			client := front.dial(t)
			close(connected)
			tt.end(client, t)
			assert.Equal(t, []string{"first", "second"}, []string{<-order, <-order})
			assert.Empty(t, order)
			_, lines := front.logged()
			assert.Equal(t, tt.log, lines)
		})
		t.Run("handler, "+name, func(t *testing.T) {
			front := startFront(t, Config{Handlers: []Handler{handleFunc(
				func(ctx context.Context, req *Request, reply ReplyFunc, next Next) error {
					if req.Command == "end" {
						return tt.err
					}
					return next(ctx, req, reply)
				})}}, answering(echo))
			client := front.dial(t)
			client.send(t, ping(t, 1)) // so that there is a connection to the backend, too
			client.receive(t)
			client.send(t, command(t, 2, bson.E{Key: "end", Value: 1}))
			tt.end(client, t)
			_, lines := front.logged()
			assert.Equal(t, tt.log, lines)
		})
	}
}

func TestWhoWaitsHoldsUpItsConnectionOnly(t *testing.T) {
	accepted, handled := make(chan struct{}), make(chan struct{})
	var connections atomic.Int32
	front := startFront(t, Config{
		Acceptors: []Acceptor{acceptFunc(func(ctx context.Context) error {
			if connections.Add(1) > 1 {
				return nil
			}
			close(accepted)
			<-ctx.Done()
			return nil
		})},
		Handlers: []Handler{handleFunc(func(ctx context.Context, req *Request, reply ReplyFunc, next Next) error {
			if req.Command != "wait" {
				return next(ctx, req, reply)
			}
			handled <- struct{}{}
			<-ctx.Done()
			handled <- struct{}{}
			return ctx.Err()
		})},
	}, answering(echo))
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
	slow.expectEnd(t)
	assert.Zero(t, lines)
}

func TestResetOfEveryConnection(t *testing.T) {
	front := startFront(t, Config{}, answering(echo))
	clients := []conversation{front.dial(t), front.dial(t)}
	for i, client := range clients {
		client.send(t, ping(t, int32(i)))
		client.receive(t)
	}
	front.Reset()
	for _, client := range clients {
		client.expectReset(t)
	}
	client := front.dial(t)
	client.send(t, ping(t, 1))
	client.receive(t)
	_, lines := front.logged()
	assert.Zero(t, lines)
}

func TestParseBackend(t *testing.T) {
	for uri, want := range map[string]string{
		"mongodb://localhost":                         "localhost:27017",
		"mongodb://u:p@127.0.0.1:1234/d?replicaSet=r": "127.0.0.1:1234",
		"mongodb://[::1]":                             "[::1]:27017",
	} {
		got, err := ParseBackend(uri)
		assert.NoError(t, err, uri)
		assert.Equal(t, want, got, uri)
	}
	for uri, want := range map[string]string{
		"mongodb://a,b": "names 2 hosts; name one", "http://a": "the backend's URI: ", "mongodb://h/?tls=true": "asks for TLS",
	} {
		_, err := ParseBackend(uri)
		assert.ErrorContains(t, err, want, uri)
	}
}
