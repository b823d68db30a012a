package cost

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"mongofork/tools/fakeserver"
)

// lengthSize is the size of the number at a document's start.
const lengthSize = 4

var (
	errNoCommand = errors.New("a request without a command")
	hasBatchSize = []byte("\x10batchSize\x00") // as a field of type int32
)

// dialer connects to a primary that exists in memory only.
type dialer struct{ replies map[string]bson.Raw }

func newDialer() (*dialer, error) {
	d := &dialer{replies: map[string]bson.Raw{}}
	for name, doc := range replies() {
		encoded, err := bson.Marshal(doc)
		if err != nil {
			return nil, fmt.Errorf("reply to %s: %w", name, err)
		}
		d.replies[name] = encoded
	}
	return d, nil
}

// DialContext is called by the driver.
func (d *dialer) DialContext(context.Context, string, string) (net.Conn, error) {
	return &conn{replies: d.replies}, nil
}

// conn is a connection whose server answers in the goroutine that writes, so that nothing but the driver is measured. Replies
// are prepared, and buffers used again.
type conn struct {
	replies map[string]bson.Raw

	mu      sync.Mutex
	message bytes.Reader
	request []byte
	reply   []byte
	unread  []byte // of the reply
	batches int    // that the cursor has left
}

func (c *conn) Write(message []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.message.Reset(message)
	var request fakeserver.Request
	var err error
	if request, c.request, err = fakeserver.ReadRequest(&c.message, c.request); err != nil {
		return 0, err
	}
	if request.NoReply {
		return len(message), nil
	}
	doc, err := c.answer(request)
	c.reply = fakeserver.AppendReply(c.reply[:0], request, doc)
	c.unread = c.reply
	return len(message), err
}

// answer returns the prepared reply to a command. It allocates nothing.
func (c *conn) answer(request fakeserver.Request) (bson.Raw, error) {
	first, _, ok := bsoncore.ReadElement(request.Body[lengthSize:])
	if !ok {
		return nil, errNoCommand
	}
	name := first.KeyBytes()
	switch {
	case string(name) == "insert" && request.Documents > 1:
		return c.replies[bulk], nil
	case string(name) == "find" && bytes.Contains(request.Body, hasBatchSize):
		c.batches = batches - 1
		return c.replies[firstBatch], nil
	case string(name) == "getMore":
		if c.batches--; c.batches == 0 {
			return c.replies[lastBatch], nil
		}
	}
	doc, ok := c.replies[string(name)]
	if !ok {
		return nil, fmt.Errorf("no reply to %s is prepared", name)
	}
	return doc, nil
}

// Read returns the reply. The driver reads without one only to see whether the connection still lives.
func (c *conn) Read(to []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.unread) == 0 {
		return 0, os.ErrDeadlineExceeded
	}
	n := copy(to, c.unread)
	c.unread = c.unread[n:]
	return n, nil
}

func (*conn) Close() error                     { return nil }
func (*conn) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (*conn) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (*conn) SetDeadline(time.Time) error      { return nil }
func (*conn) SetReadDeadline(time.Time) error  { return nil }
func (*conn) SetWriteDeadline(time.Time) error { return nil }
