package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
	"go.uber.org/goleak"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/wire"
)

const patience = 5 * time.Second

// Every way to end leaves no goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client is a connection to a front.
type client struct{ net.Conn }

// send sends a command to the database admin.
func (c client) send(t testing.TB, id int32, flags wiremessage.MsgFlag, keysAndValues ...any) {
	t.Helper()
	body := bsondoc.Marshal(bsondoc.D(append(keysAndValues, "$db", "admin")...))
	require.NoError(t, wire.Write(c, &wire.Message{RequestID: id, Flags: flags, Body: body}))
}

func (c client) receive(t testing.TB) *wire.Message {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
	m, err := wire.Read(c)
	require.NoError(t, err)
	return m
}

// server is a front that serves until the test ends.
type server struct {
	*Front
	address string
	stop    func() // ends it, and waits
}

func serve(t testing.TB, config Config) *server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &server{Front: New(config), address: listener.Addr().String()}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, listener) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			assert.NoError(t, err)
		case <-time.After(patience):
			assert.Fail(t, "the front does not end")
		}
	})
	t.Cleanup(s.stop)
	return s
}

func (s *server) dial(t testing.TB) client {
	t.Helper()
	conn, err := net.Dial("tcp", s.address)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return client{conn}
}

// echo answers with the request.
func echo(_ context.Context, req *Request) (bson.Raw, error) {
	return bsondoc.Marshal(bsondoc.D("ok", 1, "request", req.Document())), nil
}

func TestUnacknowledgedRequests(t *testing.T) {
	seen := make(chan string, 10)
	front := serve(t, Config{Answer: func(ctx context.Context, req *Request) (bson.Raw, error) {
		select {
		case <-ctx.Done():
			assert.Fail(t, "it ends with the client, which may be gone")
		case <-time.After(20 * time.Millisecond):
		}
		seen <- req.Command
		return echo(ctx, req)
	}})
	c := front.dial(t)
	c.send(t, 1, wiremessage.MoreToCome, "insert", "c")
	c.send(t, 2, 0, "ping", 1)
	assert.EqualValues(t, 2, c.receive(t).ResponseTo, "the first reply is the ping's")
	assert.Equal(t, []string{"insert", "ping"}, []string{<-seen, <-seen})

	gone := front.dial(t)
	gone.send(t, 1, wiremessage.MoreToCome, "insert", "c")
	gone.send(t, 2, wiremessage.MoreToCome, "insert", "c")
	require.NoError(t, gone.Close())
	assert.Equal(t, []string{"insert", "insert"}, []string{<-seen, <-seen}, "of a client that is gone")
}

// A connection ends if the client or the backend misbehaves, and by a handler. That to the backend ends, too.
func TestEnds(t *testing.T) {
	// A message with a right length and an unknown opcode.
	const garbage = "\x10\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x0f\x27\x00\x00"
	replies := func(reply bson.Raw, err error) Next {
		return func(context.Context, *Request) (bson.Raw, error) { return reply, err }
	}
	for name, test := range map[string]struct {
		sends    string // in place of a command
		backend  Next
		isAbsent bool // the backend
		handled  error
		isReset  bool
	}{
		"garbage":           {sends: garbage, backend: echo},
		"a malformed reply": {backend: replies(bson.Raw{5, 0, 0, 0, 1}, nil)},
		"a closed backend":  {backend: replies(nil, ErrClose)},
		"no backend":        {isAbsent: true},
		"a handler":         {backend: echo, handled: ErrClose},
		"a reset":           {backend: echo, handled: errReset, isReset: true},
	} {
		backend := serve(t, Config{Answer: test.backend})
		if test.isAbsent {
			backend.stop()
		}
		front := serve(t, Config{Backend: backend.address, Handlers: []Handler{func(ctx context.Context, req *Request, next Next) (bson.Raw, error) {
			reply, err := next(ctx, req)
			return reply, errors.Join(err, test.handled)
		}}})
		c := front.dial(t)
		if test.sends != "" {
			_, err := c.Write([]byte(test.sends))
			require.NoError(t, err)
		} else {
			c.send(t, 2, 0, "end", 1)
		}
		require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
		_, err := io.ReadAll(c)
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the connection is still open")
		assert.Equal(t, test.isReset, errors.Is(err, syscall.ECONNRESET) && test.handled != nil, name)
		assert.Eventually(t, func() bool {
			backend.mu.Lock()
			defer backend.mu.Unlock()
			return len(backend.open) == 0
		}, patience, time.Millisecond, "the connection to the backend is closed, %s", name)
	}
}
