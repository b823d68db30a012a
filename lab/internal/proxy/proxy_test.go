package proxy

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/wire"
)

func TestForward(t *testing.T) {
	hello, err := bson.Marshal(bson.D{{Key: "hello", Value: 1}})
	require.NoError(t, err)
	checksum := ping(t, 3)
	checksum.Content.(*wire.Msg).Flags = wire.ChecksumPresent
	compressed := func(compression wire.Compression) *wire.Message {
		m := ping(t, 4)
		m.Compression = compression
		return m
	}
	sequence := command(t, -5, bson.E{Key: "insert", Value: "c"})
	sequence.Content.(*wire.Msg).Sequences = []wire.Sequence{{Identifier: "documents", Documents: []bson.Raw{hello}}}

	client := startFront(t, Config{}, answering(echo)).dial(t)
	for name, request := range map[string]*wire.Message{
		"OP_MSG":   ping(t, 2),
		"checksum": checksum,
		"noop":     compressed(wire.Noop),
		"snappy":   compressed(wire.Snappy),
		"zlib":     compressed(wire.Zlib),
		"zstd":     compressed(wire.Zstd),
		"sequence": sequence,
		"OP_QUERY": {RequestID: 77, Content: &wire.Query{FullCollection: "admin.$cmd", Limit: -1, Document: hello}},
	} {
		t.Run(name, func(t *testing.T) {
			client.send(t, request)
			reply := client.receive(t)
			assert.Equal(t, request.RequestID, reply.ResponseTo)
			assert.Equal(t, request.Compression, reply.Compression)
			assert.Equal(t, request.HasFlag(wire.ChecksumPresent), reply.HasFlag(wire.ChecksumPresent))
			assert.IsType(t, echo(request)[0].Content, reply.Content)
			assert.Equal(t, request.Document(), reply.Document().Lookup("request").Document())
		})
	}
}

func TestUnacknowledgedRequests(t *testing.T) {
	seen := make(chan string, 10)
	front := startFront(t, Config{}, answering(func(m *wire.Message) []*wire.Message {
		seen <- bsondoc.FirstKey(m.Document())
		return echo(m)
	}))
	unacknowledged := command(t, 1, bson.E{Key: "insert", Value: "c"})
	unacknowledged.Content.(*wire.Msg).Flags = wire.MoreToCome

	client := front.dial(t)
	client.send(t, unacknowledged)
	client.send(t, ping(t, 2))
	assert.Equal(t, int32(2), client.receive(t).ResponseTo, "the first reply is the ping's")
	assert.Equal(t, []string{"insert", "ping"}, []string{<-seen, <-seen})

	gone := front.dial(t)
	gone.send(t, unacknowledged)
	require.NoError(t, gone.Close())
	assert.Equal(t, "insert", <-seen, "of a client that is gone")
	assert.Empty(t, front.lines())
}

func TestExhaust(t *testing.T) {
	const replies = 3
	stream := func(request *wire.Message) []*wire.Message {
		var all []*wire.Message
		for i := range replies {
			m := echo(request)[0]
			if i < replies-1 {
				m.Content.(*wire.Msg).Flags = wire.MoreToCome
			}
			all = append(all, m)
		}
		return all
	}
	client := startFront(t, Config{}, answering(stream)).dial(t)
	request := ping(t, 41)
	request.Content.(*wire.Msg).Flags = wire.ExhaustAllowed
	for range 2 {
		client.send(t, request)
		responseTo := int32(41)
		for i := range replies {
			reply := client.receive(t)
			assert.Equal(t, responseTo, reply.ResponseTo)
			assert.Equal(t, i < replies-1, reply.HasFlag(wire.MoreToCome))
			responseTo = reply.RequestID
		}
	}
}

// garbage is a message with a right length and an unknown opcode.
const garbage = "\x10\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x0f\x27\x00\x00"

// notACommand is an OP_QUERY on the collection d.c.
const notACommand = "\x25\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\xd4\x07\x00\x00" +
	"\x00\x00\x00\x00" + "d.c\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00" + "\x05\x00\x00\x00\x00"

func TestMisbehaviourEndsTheConnection(t *testing.T) {
	reply := func(change func(*wire.Message)) func(*conversation) {
		return func(c *conversation) {
			request, err := c.read()
			if err != nil {
				return
			}
			m := echo(request)[0]
			m.ResponseTo = request.RequestID
			change(m)
			_ = c.codec.Write(c.Conn, m)
			_, _ = io.ReadAll(c.Conn)
		}
	}
	tests := map[string]struct {
		client string // what it sends instead of a ping
		server func(*conversation)
		log    string
	}{
		"malformed request":  {client: garbage, log: "request: malformed message: unsupported opcode: 9999"},
		"a reply to a front": {client: "\x24\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00" + strings.Repeat("\x00", 20), log: "*wire.Reply is not a request"},
		"not a command":      {client: notACommand, log: "only commands are served, on <database>.$cmd"},
		"malformed reply":    {server: func(c *conversation) { _, _ = c.read(); _, _ = c.Write([]byte(garbage)); _, _ = c.read() }, log: "backend: malformed message: unsupported opcode: 9999"},
		"wrong responseTo":   {server: reply(func(m *wire.Message) { m.ResponseTo += 1000 }), log: "backend: a reply to request 1001, want 1"},
		"moreToCome":         {server: reply(func(m *wire.Message) { m.Content.(*wire.Msg).Flags = wire.MoreToCome }), log: "without exhaustAllowed"},
		"a query for a reply": {server: reply(func(m *wire.Message) {
			m.Content = &wire.Query{FullCollection: "d.$cmd", Document: m.Document()}
		}), log: "an OP_QUERY is not a reply"},
		"backend closes": {server: func(c *conversation) { _, _ = c.read() }, log: "backend: it closed the connection"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if tt.server == nil {
				tt.server = answering(echo)
			}
			front := startFront(t, Config{}, tt.server)
			client := front.dial(t)
			if tt.client == "" {
				client.send(t, ping(t, 1))
			} else {
				_, err := client.Write([]byte(tt.client))
				require.NoError(t, err)
			}
			client.expectEnd(t)
			lines := front.lines()
			require.Len(t, lines, 1)
			assert.Contains(t, lines[0], tt.log)
		})
	}
}

func TestBackendThatIsNotThere(t *testing.T) {
	listener := listen(t)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	front := startFront(t, Config{Backend: Backend{Network: "tcp", Address: address}}, answering(echo))
	client := front.dial(t)
	client.send(t, ping(t, 1))
	client.expectEnd(t)
	lines := front.lines()
	require.Len(t, lines, 1)
	assert.Contains(t, lines[0], "backend: dial tcp "+address)
}

func TestBackendClosesAfterAReply(t *testing.T) {
	front := startFront(t, Config{}, func(c *conversation) {
		request, err := c.read()
		if err != nil {
			return
		}
		m := echo(request)[0]
		m.ResponseTo = request.RequestID
		_ = c.codec.Write(c.Conn, m)
	})
	for range 20 { // the reply must not lose a race against the end
		client := front.dial(t)
		client.send(t, ping(t, 1))
		client.receive(t)
		client.expectEnd(t)
	}
}

func TestUnaskedReply(t *testing.T) {
	front := startFront(t, Config{}, answering(func(m *wire.Message) []*wire.Message {
		return append(echo(m), echo(m)...)
	}))
	client := front.dial(t)
	client.send(t, ping(t, 1))
	client.receive(t)
	client.expectEnd(t)
	assert.Len(t, front.lines(), 1)
}

func TestServeReturnsTheListenersError(t *testing.T) {
	front, err := New(Config{Backend: Backend{Network: "tcp", Address: "127.0.0.1:1"}})
	require.NoError(t, err)
	listener := listen(t)
	require.NoError(t, listener.Close())
	assert.ErrorContains(t, front.Serve(t.Context(), listener), "accept on 127.0.0.1:")
}

func TestNewRejects(t *testing.T) {
	_, err := New(Config{})
	assert.ErrorContains(t, err, "ParseBackend")
	_, err = New(Config{Backend: Backend{Network: "tcp", Address: "a:1"}, MaxMessageSize: -1})
	assert.ErrorContains(t, err, "maximum message size")
}

func TestIsFailure(t *testing.T) {
	assert.False(t, isFailure(nil))
	assert.False(t, isFailure(clientError("x", io.EOF)))
	assert.True(t, isFailure(clientError("x", errors.New("tls: bad record"))))
}

func TestParseBackend(t *testing.T) {
	for uri, want := range map[string]Backend{
		"mongodb://localhost":                              {Network: "tcp", Address: "localhost:27017"},
		"mongodb://u:p@127.0.0.1:1234/d?replicaSet=r":      {Network: "tcp", Address: "127.0.0.1:1234"},
		"mongodb://[::1]":                                  {Network: "tcp", Address: "[::1]:27017"},
		"mongodb://%2Ftmp%2Fmongodb-27017.sock/?appName=x": {Network: "unix", Address: "/tmp/mongodb-27017.sock"},
	} {
		got, err := ParseBackend(uri)
		assert.NoError(t, err, uri)
		assert.Equal(t, want, got, uri)
	}
	encrypted, err := ParseBackend("mongodb://h/?tls=true&tlsInsecure=true")
	require.NoError(t, err)
	assert.True(t, encrypted.TLS.InsecureSkipVerify)
	for uri, want := range map[string]string{
		"mongodb://a,b": "names 2 hosts; name one",
		"http://a":      "the backend's URI: ",
		"":              "the backend's URI: ",
	} {
		_, err := ParseBackend(uri)
		assert.ErrorContains(t, err, want, uri)
	}
}
