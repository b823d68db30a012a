package scripted

import (
	"crypto/tls"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

// Listener is a primary on loopback that gives each command the same reply, for tests that need real connections, pools and
// monitors.
type Listener struct {
	// Next, if set, is the reply to the next command only.
	Next atomic.Pointer[bson.D]
	// Refuse is the number of connections that the server closes at once before it accepts any.
	Refuse atomic.Int64
	// RefuseEach, if positive, makes the server close all connections except every n-th.
	RefuseEach atomic.Int64
	// Answer, if set, returns the reply to each named command except hello: a bson.D, an error to close the connection, or nil
	// for the common reply.
	Answer atomic.Pointer[func(command string) any]
	// Commands counts the commands that the server has answered, except hello.
	Commands atomic.Int64

	reply    bson.Raw
	listener net.Listener
	tls      *tls.Config
	accepted int64
	open     sync.WaitGroup

	mu         sync.Mutex
	handshakes []bson.Raw
	accepts    []net.Conn
}

// Handshakes returns the first command of each connection so far.
func (l *Listener) Handshakes() []bson.Raw {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]bson.Raw(nil), l.handshakes...)
}

// Listen starts a server that ends with the test, after waiting for the client to close all connections, unless the test has failed.
// The server speaks TLS if cfg is not nil.
func Listen(t *testing.T, reply bson.D, cfg *tls.Config) *Listener {
	t.Helper()

	doc, err := bson.Marshal(reply)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l := &Listener{reply: doc, listener: listener, tls: cfg}

	go l.accept()
	t.Cleanup(func() {
		_ = listener.Close()
		if t.Failed() { // perhaps before it came to that
			l.closeAll()
		}
		l.open.Wait()
	})
	return l
}

func (l *Listener) closeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, nc := range l.accepts {
		_ = nc.Close()
	}
}

// URI returns the connection string of the server.
func (l *Listener) URI() string { return "mongodb://" + l.listener.Addr().String() + "/?replicaSet=rs" }

func (l *Listener) accept() {
	for {
		nc, err := l.listener.Accept()
		if err != nil {
			return
		}
		if l.refuses() {
			_ = nc.Close()
			continue
		}
		if l.tls != nil {
			nc = tls.Server(nc, l.tls)
		}
		l.open.Add(1)
		l.mu.Lock()
		l.accepts = append(l.accepts, nc)
		l.mu.Unlock()
		go func() {
			defer l.open.Done()
			defer nc.Close()
			l.serve(nc)
		}()
	}
}

func (l *Listener) refuses() bool {
	if l.Refuse.Add(-1) >= 0 {
		return true
	}
	l.accepted++
	n := l.RefuseEach.Load()
	return n > 0 && l.accepted%n != 0
}

// serve answers commands until the client closes the connection.
func (l *Listener) serve(nc net.Conn) {
	const header = 16
	for first := true; ; first = false {
		head := make([]byte, header)
		if _, err := io.ReadFull(nc, head); err != nil {
			return
		}
		length, request, _, opcode, _, _ := wiremessage.ReadHeader(head)
		body := make([]byte, length-header)
		if _, err := io.ReadFull(nc, body); err != nil {
			return
		}
		if first {
			l.noteHandshake(opcode, body)
		}
		wm, err := l.answer(request, opcode, body)
		if err != nil {
			return
		}
		if _, err := nc.Write(wm); err != nil {
			return
		}
	}
}

// noteHandshake records the command of a message.
func (l *Listener) noteHandshake(opcode wiremessage.OpCode, body []byte) {
	const msgFlags, msgKind, queryFlags, querySkipAndReturn = 4, 1, 4, 8
	command := body[msgFlags+msgKind:]
	if opcode == wiremessage.OpQuery {
		_, command, _ = wiremessage.ReadQueryFullCollectionName(body[queryFlags:])
		command = command[querySkipAndReturn:]
	}
	if doc, _, ok := bsoncore.ReadDocument(command); ok {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.handshakes = append(l.handshakes, bson.Raw(doc))
	}
}
