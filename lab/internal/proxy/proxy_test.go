package proxy

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
	"go.uber.org/goleak"

	"mongofork/lab/internal/bsondoc"
)

const patience = time.Minute

// Every way to end leaves no goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client is a connection to a front.
type client struct{ net.Conn }

// send sends a command to the database admin.
func (c client) send(t testing.TB, id int32, flags wiremessage.MsgFlag, keysAndValues ...any) {
	t.Helper()
	body := bsondoc.Marshal(bsondoc.D(append(keysAndValues, "$db", "admin")...))
	require.NoError(t, Write(c, &Message{RequestID: id, Flags: flags, Body: body}))
}

func (c client) receive(t testing.TB) *Message {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
	m, err := Read(c)
	require.NoError(t, err)
	return m
}

// ping waits for an answer.
func (c client) ping(t testing.TB) {
	t.Helper()
	c.send(t, 1, 0, "ping", 1)
	c.receive(t)
}

// isReset waits for the front to end the connection, and reports whether it was reset.
func (c client) isReset(t testing.TB) bool {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
	_, err := io.ReadAll(c)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the connection is still open")
	return errors.Is(err, syscall.ECONNRESET)
}

// server is a front that serves until the test ends.
type server struct {
	*Front
	address string
	log     bytes.Buffer
	stop    func() // ends it, and waits
}

func serve(t testing.TB, config Config) *server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &server{address: listener.Addr().String()}
	config.Logger = slog.New(slog.NewTextHandler(&s.log, nil))
	s.Front = New(config)
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

// serveBefore serves before a backend, which is a front that answers itself.
func serveBefore(t testing.TB, config Config, backend Next) *server {
	t.Helper()
	config.Backend = serve(t, Config{Answer: backend}).address
	return serve(t, config)
}

func (s *server) dial(t testing.TB) client {
	t.Helper()
	conn, err := net.Dial("tcp", s.address)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return client{conn}
}

// logged returns the log after the front has ended.
func (s *server) logged() string {
	s.stop()
	return s.log.String()
}

// echo answers with the request.
func echo(_ context.Context, req *Request) (bson.Raw, error) {
	return bsondoc.Marshal(bsondoc.D("ok", 1, "request", req.Document())), nil
}

// No compressor gets to the server, so that it does not agree to any.
func TestNothingIsCompressed(t *testing.T) {
	c := serveBefore(t, Config{}, echo).dial(t)
	c.send(t, 5, 0, "hello", 1, "compression", bson.A{"zstd"})
	reply := c.receive(t)
	assert.EqualValues(t, 5, reply.ResponseTo)
	asked := reply.Body.Lookup("request").Document()
	assert.Equal(t, "hello", bsondoc.FirstKey(asked))
	assert.False(t, bsondoc.Has(asked, "compression"))
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
	assert.Empty(t, front.logged())
}

// A stream of replies to a hello is a series of requests, each of which names the version of the last reply.
func TestStreamOfHellos(t *testing.T) {
	asked := make(chan int64, 10)
	version := func(n int64) bson.D { return bsondoc.D("counter", n) }
	c := serve(t, Config{Answer: func(_ context.Context, req *Request) (bson.Raw, error) {
		n := req.Document().Lookup("topologyVersion", "counter").AsInt64()
		asked <- n
		assert.Zero(t, req.Message.Flags)
		return bsondoc.Marshal(bsondoc.D("ok", n < 3, "topologyVersion", version(n+1))), nil
	}}).dial(t)
	c.send(t, 7, wiremessage.ExhaustAllowed, "hello", 1, "maxAwaitTimeMS", 500, "topologyVersion", version(1))
	answered := int32(7)
	for n, flags := range []wiremessage.MsgFlag{wiremessage.MoreToCome, wiremessage.MoreToCome, 0} {
		reply := c.receive(t)
		assert.Equal(t, flags, reply.Flags, "an error ends it")
		assert.Equal(t, answered, reply.ResponseTo)
		answered = reply.RequestID
		assert.EqualValues(t, n+1, <-asked)
	}
}

// A connection ends if the client or the backend misbehaves, and by the acceptor or a handler. That to the backend ends, too.
func TestEnds(t *testing.T) {
	// A message with a right length and an unknown opcode.
	const garbage = "\x10\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x0f\x27\x00\x00"
	noRoom := errors.New("no room")
	for name, test := range map[string]struct {
		sends             string // in place of a command
		backend           Next   // echo unless it is given
		isAbsent          bool   // the backend
		accepted, handled error
		isReset           bool
		log               string
	}{
		"garbage": {sends: garbage, log: "malformed message of opcode 9999"},
		"a malformed reply": {backend: func(context.Context, *Request) (bson.Raw, error) { return bson.Raw{5, 0, 0, 0, 1}, nil },
			log: "backend: malformed message of opcode 2013"},
		"a closed backend":      {backend: func(context.Context, *Request) (bson.Raw, error) { return nil, ErrClose }, log: "backend: EOF"},
		"no backend":            {isAbsent: true, log: "backend: dial tcp 127.0.0.1:"},
		"close by the acceptor": {accepted: ErrClose}, "close by a handler": {handled: ErrClose},
		"reset by the acceptor": {accepted: ErrReset, isReset: true}, "reset by a handler": {handled: ErrReset, isReset: true},
		"error of the acceptor": {accepted: noRoom, log: "no room"}, "error of a handler": {handled: noRoom, log: "no room"},
	} {
		if test.backend == nil {
			test.backend = echo
		}
		backend := serve(t, Config{Answer: test.backend})
		if test.isAbsent {
			backend.stop()
		}
		connected := make(chan struct{})
		front := serve(t, Config{Backend: backend.address, Accept: func(context.Context) error {
			<-connected // a connection that is reset at once may fail to be made
			return test.accepted
		}, Handlers: []Handler{func(ctx context.Context, req *Request, next Next) (bson.Raw, error) {
			if req.Command == "end" && test.handled != nil {
				return nil, test.handled
			}
			return next(ctx, req)
		}}})
		c := front.dial(t)
		close(connected)
		if test.handled != nil {
			c.ping(t) // so that there is a connection to the backend, too
		}
		if test.sends != "" {
			_, err := c.Write([]byte(test.sends))
			require.NoError(t, err)
		} else if test.accepted == nil {
			c.send(t, 2, 0, "end", 1)
		}
		isReset := c.isReset(t)
		assert.True(t, isReset == test.isReset || test.accepted == nil && test.handled == nil, name)
		assert.Eventually(t, func() bool {
			backend.mu.Lock()
			defer backend.mu.Unlock()
			return len(backend.open) == 0
		}, patience, time.Millisecond, "the connection to the backend is closed, %s", name)
		want := `^$`
		if test.log != "" {
			want = `^[^\n]*` + test.log + `[^\n]*\n$` // one line
		}
		assert.Regexp(t, want, front.logged(), name)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	assert.ErrorContains(t, New(Config{}).Serve(t.Context(), listener), "accept on 127.0.0.1:")
}

// A client that waits to be accepted, for a handler or for a silent backend holds up nobody else, and may leave.
func TestWhoWaitsHoldsUpItsConnectionOnly(t *testing.T) {
	accepted, handled := make(chan struct{}), make(chan struct{})
	var connections atomic.Int32
	wait := func(ctx context.Context, req *Request) (bson.Raw, error) {
		handled <- struct{}{}
		<-ctx.Done()
		handled <- struct{}{}
		return nil, ctx.Err()
	}
	front := serveBefore(t, Config{
		Accept: func(ctx context.Context) error {
			if connections.Add(1) > 1 {
				return nil
			}
			close(accepted)
			<-ctx.Done()
			return ctx.Err()
		},
		Handlers: []Handler{func(ctx context.Context, req *Request, next Next) (bson.Raw, error) {
			if req.Command == "wait" {
				return wait(ctx, req)
			}
			return next(ctx, req)
		}},
	}, func(ctx context.Context, req *Request) (bson.Raw, error) {
		if req.Command == "silent" {
			return wait(ctx, req)
		}
		return echo(ctx, req)
	})
	slow := front.dial(t)
	<-accepted
	for _, command := range []string{"wait", "silent"} {
		waiting := front.dial(t)
		waiting.send(t, 1, 0, command, 1)
		<-handled
		front.dial(t).ping(t)
		require.NoError(t, waiting.Close())
		<-handled // it ends with its client
	}
	front.dial(t).send(t, 1, 0, "silent", 1)
	<-handled
	go func() { <-handled }()
	assert.Empty(t, front.logged(), "the front ends all the same")
	slow.isReset(t)
}

// encoded returns a message of an opcode, whose content is in parts.
func encoded(op wiremessage.OpCode, parts ...[]byte) []byte {
	content := bytes.Join(parts, nil)
	return append(wiremessage.AppendHeader(nil, int32(headerSize+len(content)), 7, 3, op), content...)
}

func decode(b []byte) (*Message, error) { return Read(bytes.NewReader(b)) }

// sequence returns a section with documents.
func sequence(name string, documents ...[]byte) []byte {
	content := append(append([]byte(name), 0), bytes.Join(documents, nil)...)
	return append(binary.LittleEndian.AppendUint32([]byte{1}, uint32(4+len(content))), content...)
}

func messages() map[string][]byte {
	body := bsondoc.Marshal(bsondoc.D("insert", "c", "$db", "d"))
	var compressed bytes.Buffer
	_ = Write(&compressed, &Message{Body: body, Compressor: wiremessage.CompressorZLib}) // a buffer takes everything
	return map[string][]byte{
		"compressed": compressed.Bytes(),
		"OP_MSG":     encoded(wiremessage.OpMsg, []byte{2, 0, 0, 0, 0}, body),
		"sequences":  encoded(wiremessage.OpMsg, make([]byte, 5), body, sequence("documents", body, body), sequence("none")),
	}
}

func TestRoundTrip(t *testing.T) {
	for name, b := range messages() {
		m, err := Read(bytes.NewReader(b))
		require.NoError(t, err, name)
		assert.Equal(t, name == "OP_MSG", m.Flags&wiremessage.MoreToCome != 0, name)
		var got bytes.Buffer
		require.NoError(t, Write(&got, m), name)
		assert.Equal(t, b, got.Bytes(), name)
	}
	_, err := Read(&bytes.Buffer{})
	assert.ErrorIs(t, err, io.EOF)
}

func TestMalformed(t *testing.T) {
	header := func(size, op int32) []byte { return wiremessage.AppendHeader(nil, size, 0, 0, wiremessage.OpCode(op)) }
	for name, b := range map[string][]byte{
		"too small":       header(headerSize-1, 2013),
		"too large":       header(maxMessageSize+1, 2013),
		"below zero":      header(-1, 2013),
		"compressed":      header(headerSize, 2012),
		"unknown":         header(headerSize, 9999),
		"empty OP_MSG":    header(headerSize, 2013),
		"empty OP_QUERY":  header(headerSize, 2004),
		"no section":      append(header(headerSize+4, 2013), 0, 0, 0, 0),
		"unknown section": append(header(headerSize+5, 2013), 0, 0, 0, 0, 2),
	} {
		_, err := Read(bytes.NewReader(b))
		assert.ErrorIs(t, err, ErrMalformed, name)
	}

	// A message that is cut short or has one byte changed is refused or read; it causes no panic.
	for name, b := range messages() {
		for i := range b {
			_, err := decode(b[:i])
			assert.Error(t, err, name)
			for _, value := range []byte{0, 1, 0x7f, 0xff} {
				changed := bytes.Clone(b)
				changed[i] = value
				if m, err := decode(changed); err == nil {
					m.Whole()
				}
			}
		}
	}
}
