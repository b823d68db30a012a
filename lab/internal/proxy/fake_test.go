package proxy

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/lab/internal/wire"
)

const patience = 5 * time.Second

// fakeServer is a server of which serve handles each connection.
type fakeServer struct {
	address string
	codec   *wire.Codec
}

// conversation is one side of a connection.
type conversation struct {
	net.Conn
	codec *wire.Codec
}

func (c *conversation) read() (*wire.Message, error) { return c.codec.Read(c.Conn) }

func (c *conversation) send(t testing.TB, m *wire.Message) {
	t.Helper()
	require.NoError(t, c.codec.Write(c.Conn, m))
}

func (c *conversation) receive(t testing.TB) *wire.Message {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
	m, err := c.read()
	require.NoError(t, err)
	return m
}

// expectEnd waits for the other side to close the connection.
func (c *conversation) expectEnd(t testing.TB) {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
	_, err := io.ReadAll(c.Conn)
	assert.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the connection is still open")
}

// startServer serves until the test ends. The connection is closed when serve returns.
func startServer(t testing.TB, listener net.Listener, serve func(*conversation)) *fakeServer {
	t.Helper()
	codec, err := wire.NewCodec(0)
	require.NoError(t, err)
	var connections sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	connections.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			context.AfterFunc(ctx, func() { conn.Close() })
			connections.Go(func() {
				defer conn.Close()
				serve(&conversation{conn, codec})
			})
		}
	})
	t.Cleanup(func() {
		cancel()
		listener.Close()
		connections.Wait()
	})
	return &fakeServer{address: listener.Addr().String(), codec: codec}
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return listener
}

// answering returns a server's behaviour: to each request the answers to it, in order.
func answering(answer func(*wire.Message) []*wire.Message) func(*conversation) {
	return func(c *conversation) {
		for id := int32(5000); ; {
			request, err := c.read()
			if err != nil {
				return
			}
			responseTo := request.RequestID
			for _, m := range answer(request) {
				id++
				m.RequestID, m.ResponseTo, m.Compression = id, responseTo, request.Compression
				responseTo = id
				if c.codec.Write(c.Conn, m) != nil {
					return
				}
			}
		}
	}
}

// echo answers an OP_MSG with {ok: 1, request: <it>}, an OP_QUERY likewise, and nothing to what needs no answer.
func echo(request *wire.Message) []*wire.Message {
	body, err := bson.Marshal(bson.D{{Key: "ok", Value: 1}, {Key: "request", Value: request.Document()}})
	if err != nil {
		panic(err)
	}
	switch content := request.Content.(type) {
	case *wire.Query:
		return []*wire.Message{{Content: &wire.Reply{Flags: 8, Documents: []bson.Raw{body}}}}
	case *wire.Msg:
		if content.Flags&wire.MoreToCome == 0 {
			return []*wire.Message{{Content: &wire.Msg{Flags: content.Flags & wire.ChecksumPresent, Body: body}}}
		}
	}
	return nil
}

// lab is a front before a fake server.
type lab struct {
	address string
	codec   *wire.Codec
	log     *lockedBuffer
	stop    func()                  // ends the front, and waits for it
	cancel  context.CancelCauseFunc // ends the front
}

func startFront(t testing.TB, config Config, serve func(*conversation)) *lab {
	t.Helper()
	server := startServer(t, listen(t), serve)
	if config.Backend.Address == "" {
		config.Backend = Backend{Network: "tcp", Address: server.address}
	}
	l := &lab{codec: server.codec, log: &lockedBuffer{}}
	config.Logger = slog.New(slog.NewTextHandler(l.log, nil))
	front, err := New(config)
	require.NoError(t, err)

	listener := listen(t)
	l.address = listener.Addr().String()
	ctx, cancel := context.WithCancelCause(context.Background())
	l.cancel = cancel
	ended := make(chan error, 1)
	go func() { ended <- front.Serve(ctx, listener) }()
	l.stop = sync.OnceFunc(func() {
		cancel(nil)
		select {
		case err := <-ended:
			assert.NoError(t, err)
		case <-time.After(patience):
			assert.Fail(t, "the front does not end")
		}
	})
	t.Cleanup(l.stop)
	return l
}

func (l *lab) dial(t testing.TB) *conversation {
	t.Helper()
	conn, err := net.Dial("tcp", l.address)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return &conversation{conn, l.codec}
}

// lockedBuffer is written to by a log, and read by a test.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

// lines returns the lines of the log, after the front has ended.
func (l *lab) lines() []string {
	l.stop()
	lines := []string{}
	for line := range bytes.Lines([]byte(l.log.String())) {
		lines = append(lines, string(line))
	}
	return lines
}

// command returns a request in an OP_MSG.
func command(t testing.TB, id int32, elements ...bson.E) *wire.Message {
	t.Helper()
	doc, err := bson.Marshal(append(bson.D(elements), bson.E{Key: "$db", Value: "admin"}))
	require.NoError(t, err)
	return &wire.Message{RequestID: id, Content: &wire.Msg{Body: doc}}
}

func ping(t testing.TB, id int32) *wire.Message {
	return command(t, id, bson.E{Key: "ping", Value: 1})
}

func commandNamed(t testing.TB, name string) *wire.Message {
	return command(t, 1, bson.E{Key: name, Value: 1})
}
