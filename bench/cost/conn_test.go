package cost

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

const (
	address    = "memory:27017"
	replicaSet = "canned"
	// all is the comment of a find that gets all documents in one batch.
	all = "all documents"
	// lengthSize is the size of the number at a document's start.
	lengthSize = 4
)

// server is a primary that exists in memory only: its replies, by the command's name.
type server map[string]bson.Raw

func newServer(t testing.TB) server {
	t.Helper()
	s := server{}
	for name, reply := range map[string]bson.D{
		"hello": {
			{Key: "helloOk", Value: true}, {Key: "isWritablePrimary", Value: true}, {Key: "setName", Value: replicaSet},
			{Key: "setVersion", Value: 1},
			{Key: "hosts", Value: bson.A{address}}, {Key: "primary", Value: address}, {Key: "me", Value: address},
			{Key: "maxBsonObjectSize", Value: 16 << 20}, {Key: "maxMessageSizeBytes", Value: 48_000_000},
			{Key: "maxWriteBatchSize", Value: 100_000}, {Key: "logicalSessionTimeoutMinutes", Value: 30},
			{Key: "minWireVersion", Value: 0}, {Key: "maxWireVersion", Value: 25}, {Key: "ok", Value: 1.0}, // MongoDB 8.0
		},
		"find":              found(1),
		all:                 found(thousand),
		"insert":            ok(bson.E{Key: "n", Value: bulkSize}), // only a bulk write looks at it
		"update":            ok(bson.E{Key: "n", Value: 1}, bson.E{Key: "nModified", Value: 1}),
		"commitTransaction": ok(),
		"endSessions":       ok(),
	} {
		encoded, err := bson.Marshal(reply)
		if err != nil {
			t.Fatal(err)
		}
		s[name] = encoded
	}
	return s
}

// ok is a reply of a replica set, with the times that all of them tell.
func ok(fields ...bson.E) bson.D {
	now := bson.Timestamp{T: 1_700_000_000, I: 1}
	signature := bson.D{{Key: "hash", Value: bson.Binary{Data: make([]byte, 20)}}, {Key: "keyId", Value: int64(0)}}
	return append(fields,
		bson.E{Key: "ok", Value: 1.0},
		bson.E{Key: "$clusterTime", Value: bson.D{{Key: "clusterTime", Value: now}, {Key: "signature", Value: signature}}},
		bson.E{Key: "operationTime", Value: now})
}

// found is the reply to a find that finds documents.
func found(n int) bson.D {
	documents := make(bson.A, n)
	for i := range documents {
		documents[i] = document(i)
	}
	return ok(bson.E{Key: "cursor", Value: bson.D{
		{Key: "id", Value: int64(0)}, {Key: "ns", Value: "bench.documents"}, {Key: "firstBatch", Value: documents},
	}})
}

// DialContext is called by the driver.
func (s server) DialContext(context.Context, string, string) (net.Conn, error) {
	return &conn{replies: s}, nil
}

// conn is a connection whose server answers in the goroutine that writes, and allocates nothing, so that nothing but the driver is
// measured.
type conn struct {
	replies server

	mu     sync.Mutex
	reply  []byte
	unread []byte // of the reply
}

// Write takes a message, which the driver writes by one call: an OP_QUERY as a connection's first hello, and OP_MSGs otherwise.
func (c *conn) Write(message []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, id, _, opcode, rest, _ := wiremessage.ReadHeader(message)
	doc := c.replies["hello"]
	if opcode == wiremessage.OpMsg {
		_, rest, _ = wiremessage.ReadMsgFlags(rest)
		_, rest, _ = wiremessage.ReadMsgSectionType(rest)
		first, _, _ := bsoncore.ReadElement(rest[lengthSize:])
		doc = c.replies[string(first.KeyBytes())]
		if bytes.Contains(rest, []byte(all)) {
			doc = c.replies[all]
		}
		if doc == nil {
			return 0, fmt.Errorf("no reply to %s is prepared", first.Key())
		}
	}
	start, reply := wiremessage.AppendHeaderStart(c.reply[:0], 0, id, wiremessage.OpMsg)
	reply = wiremessage.AppendMsgFlags(reply, 0)
	reply = wiremessage.AppendMsgSectionType(reply, wiremessage.SingleDocument)
	reply = append(reply, doc...)
	c.reply = bsoncore.UpdateLength(reply, start, int32(len(reply))-start)
	c.unread = c.reply
	return len(message), nil
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
