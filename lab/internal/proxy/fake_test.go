package proxy

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.uber.org/goleak"

	"mongofork/lab/internal/wire"
)

const patience = 5 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// conversation is one side of a connection.
type conversation struct{ net.Conn }

func (c conversation) send(t testing.TB, m *wire.Message) {
	t.Helper()
	require.NoError(t, wire.Write(c, m))
}

func (c conversation) receive(t testing.TB) *wire.Message {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
	m, err := wire.Read(c)
	require.NoError(t, err)
	return m
}

// expectEnd waits for the other side to close the connection.
func (c conversation) expectEnd(t testing.TB) {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
	_, err := io.ReadAll(c)
	assert.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the connection is still open")
}

// expectReset waits for the other side to reset the connection.
func (c conversation) expectReset(t testing.TB) {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
	_, err := io.ReadAll(c)
	assert.ErrorIs(t, err, syscall.ECONNRESET)
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return listener
}

// startServer serves until the test ends, and returns its address. Each connection is closed when serve returns.
func startServer(t testing.TB, serve func(conversation)) string {
	t.Helper()
	listener := listen(t)
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
				serve(conversation{conn})
			})
		}
	})
	t.Cleanup(func() {
		cancel()
		listener.Close()
		connections.Wait()
	})
	return listener.Addr().String()
}

// answering returns a server's behaviour: to each request the answers to it, in order.
func answering(answer func(*wire.Message) []*wire.Message) func(conversation) {
	return func(c conversation) {
		for id := int32(5000); ; {
			request, err := wire.Read(c)
			if err != nil {
				return
			}
			for _, m := range answer(request) {
				id++
				m.RequestID, m.ResponseTo = id, request.RequestID
				if wire.Write(c, m) != nil {
					return
				}
			}
		}
	}
}

// echo answers with {ok: 1, request: <it>}, and nothing to what needs no answer.
func echo(request *wire.Message) []*wire.Message {
	if request.HasFlag(wire.MoreToCome) {
		return nil
	}
	body, err := bson.Marshal(bson.D{{Key: "ok", Value: 1}, {Key: "request", Value: request.Body}})
	if err != nil {
		panic(err)
	}
	return []*wire.Message{{Legacy: request.Legacy, Body: body}}
}

// lab is a front before a fake server.
type lab struct {
	*Front
	address string
	log     *lockedBuffer
	stop    func() // ends the front, and waits for it
}

func startFront(t testing.TB, config Config, serve func(conversation)) *lab {
	t.Helper()
	if config.Backend == "" {
		config.Backend = startServer(t, serve)
	}
	listener := listen(t)
	l := &lab{log: &lockedBuffer{}, address: listener.Addr().String()}
	config.Logger = slog.New(slog.NewTextHandler(l.log, nil))
	front := New(config)
	l.Front = front
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- front.Serve(ctx, listener) }()
	l.stop = sync.OnceFunc(func() {
		cancel()
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

func (l *lab) dial(t testing.TB) conversation {
	t.Helper()
	conn, err := net.Dial("tcp", l.address)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return conversation{conn}
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

// logged returns the log after the front has ended, and its number of lines.
func (l *lab) logged() (string, int) {
	l.stop()
	l.log.mu.Lock()
	defer l.log.mu.Unlock()
	text := l.log.buffer.String()
	return text, strings.Count(text, "\n")
}

// command returns a request in an OP_MSG.
func command(t testing.TB, id int32, elements ...bson.E) *wire.Message {
	t.Helper()
	doc, err := bson.Marshal(append(bson.D(elements), bson.E{Key: "$db", Value: "admin"}))
	require.NoError(t, err)
	return &wire.Message{RequestID: id, Body: doc}
}

func ping(t testing.TB, id int32) *wire.Message {
	return command(t, id, bson.E{Key: "ping", Value: 1})
}
