package cost

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

const (
	all        = "all documents" // the comment of a find that gets all documents in one batch
	lengthSize = 4               // the size of the number at a document's start
)

// server is a primary that exists in memory only: its replies, by the command's name.
type server map[string]bson.Raw

// times are what all replies of a replica set tell.
const times = `"ok": 1, "$clusterTime": {"clusterTime": {"$timestamp": {"t": 1700000000, "i": 1}}, "signature": {"hash": {"$binary":
	{"base64": "AAAAAAAAAAAAAAAAAAAAAAAAAAA=", "subType": "00"}}, "keyId": {"$numberLong": "0"}}},
	"operationTime": {"$timestamp": {"t": 1700000000, "i": 1}}`

func newServer(t testing.TB) server {
	t.Helper()
	s := server{}
	for name, reply := range map[string]string{
		"hello": `{"helloOk": true, "isWritablePrimary": true, "setName": "canned", "setVersion": 1, "hosts": ["memory:27017"],
			"me": "memory:27017", "maxBsonObjectSize": 16777216, "maxMessageSizeBytes": 48000000, "maxWriteBatchSize": 100000,
			"logicalSessionTimeoutMinutes": 30, "minWireVersion": 0, "maxWireVersion": 25, "ok": 1}`,
		"find":              found(1),
		all:                 found(thousand),
		"insert":            `{"n": 1, ` + times + `}`,
		"update":            `{"n": 1, "nModified": 1, ` + times + `}`,
		"listIndexes":       found(0),
		"createIndexes":     `{` + times + `}`,
		"commitTransaction": `{` + times + `}`,
		"endSessions":       `{` + times + `}`,
	} {
		var doc bson.D
		require.NoError(t, bson.UnmarshalExtJSON([]byte(reply), false, &doc), name)
		encoded, err := bson.Marshal(doc)
		require.NoError(t, err)
		s[name] = encoded
	}
	return s
}

// found is the reply to a find that finds n documents.
func found(n int) string {
	documents := make([]string, n)
	for i := range documents {
		documents[i] = fmt.Sprintf(`{"_id": %d, "name": "the quick brown fox", "count": {"$numberLong": "1"}}`, i)
	}
	return `{"cursor": {"id": {"$numberLong": "0"}, "ns": "bench.documents", "firstBatch": [` + strings.Join(documents, ",") + `]}, ` +
		times + `}`
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
