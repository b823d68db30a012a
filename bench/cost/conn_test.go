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
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

// lengthSize is the size of the number at a document's start.
const lengthSize = 4

var (
	errNoCommand = errors.New("a request without a command")
	errMalformed = errors.New("a request that is malformed")
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
	reply   []byte
	unread  []byte // of the reply
	batches int    // that the cursor has left
}

func (c *conn) Write(message []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := parse(message)
	if !ok {
		return 0, errMalformed
	}
	if r.noReply {
		return len(message), nil
	}
	doc, err := c.answer(r)
	c.reply = r.appendReply(c.reply[:0], doc)
	c.unread = c.reply
	return len(message), err
}

// request is a command. The driver writes a message by one call, an OP_QUERY as a connection's first hello and OP_MSGs otherwise.
type request struct {
	id        int32
	legacy    bool // an OP_QUERY
	noReply   bool
	body      bsoncore.Document
	documents int // in sequences beside the body
}

func parse(message []byte) (r request, ok bool) {
	_, id, _, opcode, rest, _ := wiremessage.ReadHeader(message)
	r.id = id
	if r.legacy = opcode != wiremessage.OpMsg; r.legacy {
		_, rest, _ = bsoncore.ReadInt32(rest)    // flags
		_, rest, _ = bsoncore.ReadKeyBytes(rest) // the namespace
		_, rest, _ = bsoncore.ReadInt64(rest)    // numberToSkip and numberToReturn
		r.body, _, ok = bsoncore.ReadDocument(rest)
		return r, ok
	}
	flags, rest, _ := wiremessage.ReadMsgFlags(rest)
	r.noReply = flags&wiremessage.MoreToCome != 0
	_, rest, _ = wiremessage.ReadMsgSectionType(rest)
	for r.body, rest, ok = bsoncore.ReadDocument(rest); ok && len(rest) > 0; {
		var documents []byte
		_, rest, _ = wiremessage.ReadMsgSectionType(rest)
		for _, documents, rest, ok = wiremessage.ReadMsgSectionRawDocumentSequence(rest); ok && len(documents) > 0; r.documents++ {
			_, documents, ok = bsoncore.ReadDocument(documents)
		}
	}
	return r, ok
}

// appendReply appends the message that replies with a document.
func (r request) appendReply(dst []byte, doc bson.Raw) []byte {
	opcode := wiremessage.OpMsg
	if r.legacy {
		opcode = wiremessage.OpReply
	}
	start, dst := wiremessage.AppendHeaderStart(dst, 0, r.id, opcode)
	if r.legacy {
		dst = wiremessage.AppendReplyFlags(dst, 0)
		dst = wiremessage.AppendReplyCursorID(dst, 0)
		dst = wiremessage.AppendReplyStartingFrom(dst, 0)
		dst = wiremessage.AppendReplyNumberReturned(dst, 1)
	} else {
		dst = wiremessage.AppendMsgFlags(dst, 0)
		dst = wiremessage.AppendMsgSectionType(dst, wiremessage.SingleDocument)
	}
	dst = append(dst, doc...)
	return bsoncore.UpdateLength(dst, start, int32(len(dst))-start)
}

// answer returns the prepared reply to a command. It allocates nothing.
func (c *conn) answer(r request) (bson.Raw, error) {
	first, _, ok := bsoncore.ReadElement(r.body[lengthSize:])
	if !ok {
		return nil, errNoCommand
	}
	name := first.KeyBytes()
	switch {
	case string(name) == "insert" && r.documents == thousand:
		return c.replies[insertThousand], nil
	case string(name) == "insert" && r.documents > 1:
		return c.replies[bulk], nil
	case string(name) == "find" && bytes.Contains(r.body, []byte(all)):
		return c.replies[all], nil
	case string(name) == "find" && bytes.Contains(r.body, hasBatchSize):
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
