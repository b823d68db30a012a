package driver

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
)

// question is a request to a service at an address, which wants an answer of so many bytes.
type question struct {
	address string
	wants   int
	answer  []byte
	again   bool // it can be repeated: a connection that failed is no error yet
	pause   time.Duration
	asked   int
	more    []byte // that is asked after the question
	onFed   func()
	fails   string // the method that does
}

func (q *question) failing(method string) error {
	if q.fails == method {
		return errors.New(method)
	}
	return nil
}

var _ kmsRequest = (*question)(nil)

var errFromTheService = errors.New("the service failed")

func (q *question) HostName() (string, error) { return q.address, q.failing("HostName") }
func (q *question) KMSProvider() string       { return "local" }
func (q *question) BytesNeeded() int32        { return int32(q.wants - len(q.answer)) }
func (q *question) Pause() time.Duration      { return q.pause }
func (q *question) MessageAfterPause() ([]byte, error) {
	q.asked++
	return append([]byte("decrypt"), q.more...), q.failing("MessageAfterPause")
}
func (q *question) RequestError() error {
	if q.again {
		return nil
	}
	return errFromTheService
}
func (q *question) FeedResponse(part []byte) error {
	q.answer = append(q.answer, part...)
	if q.onFed != nil {
		q.onFed()
	}
	return q.failing("FeedResponse")
}

// kmsService is a service that handles each connection so, after the message was read or, if it is silent, before TLS.
func kmsService(t *testing.T, silent bool, handle func(net.Conn)) (*crypt, *question) {
	t.Helper()
	certificates := httptest.NewTLSServer(nil)
	t.Cleanup(certificates.Close)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	t.Cleanup(func() { _ = listener.Close(); <-done })
	go func() {
		defer close(done)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		if !silent {
			conn = tls.Server(&corked{Conn: conn}, &tls.Config{Certificates: certificates.TLS.Certificates})
			if _, err := io.ReadFull(conn, make([]byte, len("decrypt"))); err != nil {
				return
			}
		}
		handle(conn)
	}()
	trusting := map[string]*tls.Config{"local": {InsecureSkipVerify: true}}
	return &crypt{tlsConfig: trusting}, &question{address: listener.Addr().String(), wants: len("key")}
}

// corked is a connection that can keep what is written until it is closed, so that all of it comes at once.
type corked struct {
	net.Conn
	keeps bool
	kept  []byte
}

func (c *corked) Write(data []byte) (int, error) {
	if !c.keeps {
		return c.Conn.Write(data)
	}
	c.kept = append(c.kept, data...)
	return len(data), nil
}

func (c *corked) Close() error {
	_ = c.SetWriteDeadline(time.Time{}) // package tls lets none be written any more
	_, _ = c.Conn.Write(c.kept)
	return c.Conn.Close()
}

// says answers in parts.
func says(parts ...string) func(net.Conn) {
	return func(conn net.Conn) {
		for _, part := range parts {
			_, _ = conn.Write([]byte(part))
		}
	}
}

// TestKMSRequest is about services that answer in parts, together with the end of the connection, or not at all.
func TestKMSRequest(t *testing.T) {
	last, asked := kmsService(t, false, func(conn net.Conn) {
		conn.(*tls.Conn).NetConn().(*corked).keeps = true
		says("key")(conn)
		_ = conn.Close()
	})
	last.tlsConfig["local"].MaxVersion = tls.VersionTLS12
	require.NoError(t, last.sendKMSRequest(context.Background(), asked))
	assert.Equal(t, "key", string(asked.answer))
	c, q := kmsService(t, false, says("ke", "y"))
	require.NoError(t, c.sendKMSRequest(context.Background(), q))
	assert.Equal(t, "key", string(q.answer))
	for again, want := range map[bool]error{false: errFromTheService, true: nil} { // then libmongocrypt asks again
		c, q = kmsService(t, false, says())
		q.again = again
		assert.Equal(t, want, c.sendKMSRequest(context.Background(), q))
	}
}

// TestKMSRequestThatFails is about errors of libmongocrypt and of the connection: none is lost, though the request can be repeated.
func TestKMSRequestThatFails(t *testing.T) {
	for want, change := range map[string]func(*crypt, *question){
		"HostName":            func(_ *crypt, q *question) { q.fails = "HostName" },
		"MessageAfterPause":   func(_ *crypt, q *question) { q.fails = "MessageAfterPause" },
		"FeedResponse":        func(_ *crypt, q *question) { q.fails = "FeedResponse" },
		"connect":             func(_ *crypt, q *question) { q.address = "127.0.0.1:0" },
		"255.255.255.255:443": func(_ *crypt, q *question) { q.address = "255.255.255.255" }, // which nobody connects to
		"certificate":         func(c *crypt, _ *question) { delete(c.tlsConfig, "local") },
	} {
		c, q := kmsService(t, false, says("key"))
		q.again = true
		change(c, q)
		assert.ErrorContains(t, c.sendKMSRequest(context.Background(), q), want)
	}
	for silent, more := range map[bool]int{true: 0, false: 64 << 20} { // no TLS, and only the first bytes are read
		c, q := kmsService(t, silent, says())
		q.again, q.more = true, make([]byte, more)
		assert.Error(t, c.sendKMSRequest(context.Background(), q), "silent: %v", silent)
	}
}

// TestKMSConnectionIsClosed is about the end of a request, which closes its connection though the context lives.
func TestKMSConnectionIsClosed(t *testing.T) {
	client, service := net.Pipe()
	closeWhenDone(context.Background(), client)()
	_, err := service.Read(make([]byte, 1))
	assert.Equal(t, io.EOF, err)
}

// TestKMSAnswerBeforeTheEnd is about a context that ends when all of the answer has come, and one that ended before the request.
func TestKMSAnswerBeforeTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	c, q := kmsService(t, false, says("key"))
	q.onFed = cancel
	require.NoError(t, c.sendKMSRequest(ctx, q))
	assert.Equal(t, "key", string(q.answer))
	q = &question{}
	err := c.sendKMSRequest(ctx, q)
	assert.True(t, errors.Is(err, context.Canceled), "%v", err)
	assert.Equal(t, "request to a key management service: context canceled", err.Error())
	assert.Equal(t, 0, q.asked)
}

// TestKMSRequestEndsWithItsContext is about services that say nothing any more, during the TLS handshake and instead of an answer: the
// request ends when its context does (client-side-operations-timeout.md, "Client Side Encryption").
func TestKMSRequestEndsWithItsContext(t *testing.T) {
	for name, silent := range map[string]bool{"TLS": true, "answer": false} {
		ctx, cancel := context.WithCancel(context.Background())
		c, q := kmsService(t, silent, func(conn net.Conn) {
			cancel()
			_, _ = io.Copy(io.Discard, conn) // until the client has closed it
		})
		q.again = true
		err := c.sendKMSRequest(ctx, q)
		assert.True(t, errors.Is(err, context.Canceled), name)
		assert.NotContains(t, err.Error(), "nil", name)
	}
}

// TestKMSRequestHasADeadline is about a caller without one: no request lasts for ever.
func TestKMSRequestHasADeadline(t *testing.T) {
	ctx, cancel := kmsContext(context.Background())
	defer cancel()
	deadline, limited := ctx.Deadline()
	require.True(t, limited)
	assert.LessOrEqual(t, time.Until(deadline), defaultKmsTimeout)
	callers, cancelCallers := context.WithTimeout(context.Background(), time.Hour)
	defer cancelCallers()
	ctx, cancel = kmsContext(callers)
	defer cancel()
	assert.Equal(t, callers, ctx, "the caller's own deadline")
}

// TestKMSPauseEndsWithItsContext is about a repeated request, before which libmongocrypt wants a pause: it is made, and ends when the
// context does, without a request.
func TestKMSPauseEndsWithItsContext(t *testing.T) {
	c, q := kmsService(t, false, says("key"))
	q.pause = time.Millisecond
	start := time.Now()
	require.NoError(t, c.sendKMSRequest(context.Background(), q))
	assert.Equal(t, "key", string(q.answer))
	assert.GreaterOrEqual(t, time.Since(start), q.pause)
	ctx, cancel := context.WithCancel(context.Background())
	q = &question{pause: 24 * time.Hour}
	time.AfterFunc(time.Millisecond, cancel)
	err := c.sendKMSRequest(ctx, q)
	assert.True(t, errors.Is(err, context.Canceled), "%v", err)
	assert.Equal(t, 0, q.asked)
}
