package proxy

import (
	"bytes"
	"context"
	"errors"
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
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
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

// end waits for the other side to close or reset the connection, and returns which it was.
func (c conversation) end(t testing.TB) error {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
	_, err := io.ReadAll(c)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the connection is still open")
	if err == nil {
		return io.EOF
	}
	return err
}

// lab is a front before a fake server.
type lab struct {
	*Front
	address string
	log     bytes.Buffer
	stop    func() // ends the front, and waits for it
}

// startServer serves until the test ends, and returns its address. Each connection is closed when serve returns.
func startServer(t testing.TB, serve func(conversation)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
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

// answering returns a server's behaviour: the answer to each request, or {ok: 1, request: <it>}.
func answering(answer func(*wire.Message) bson.D) func(conversation) {
	return func(c conversation) {
		for {
			request, err := wire.Read(c)
			if err != nil {
				return
			}
			doc := bson.D{{Key: "ok", Value: 1}, {Key: "request", Value: request.Body}}
			if answer != nil {
				doc = answer(request)
			}
			body, err := bson.Marshal(doc)
			if err != nil {
				panic(err)
			}
			reply := &wire.Message{RequestID: 5000, ResponseTo: request.RequestID, Body: body}
			if !request.HasFlag(wiremessage.MoreToCome) && wire.Write(c, reply) != nil {
				return
			}
		}
	}
}

func startFront(t testing.TB, config Config, serve func(conversation)) *lab {
	t.Helper()
	if config.Backend == "" {
		config.Backend = startServer(t, serve)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l := &lab{address: listener.Addr().String()}
	config.Logger = slog.New(slog.NewTextHandler(&l.log, nil))
	l.Front = New(config)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- l.Serve(ctx, listener) }()
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

// logged returns the log after the front has ended, and its number of lines.
func (l *lab) logged() (string, int) {
	l.stop()
	return l.log.String(), strings.Count(l.log.String(), "\n")
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

// isReset reports whether a connection's end was a reset.
func isReset(err error) bool { return errors.Is(err, syscall.ECONNRESET) }
