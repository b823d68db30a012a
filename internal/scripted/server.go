package scripted

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/csot"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mnet"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

// server is one server of a script. It holds the policy for the cursors opened on it.
type server struct {
	*Script
	backpressure.Carrier
	desc description.Server
}

// server returns a server of the script.
func (s *Script) server(desc description.Server) server {
	carrier := backpressure.Carry(&s.Policy)
	if carries, ok := any(s).(carries); ok {
		carrier = carries.carried(desc.Addr)
	}
	return server{s, carrier, desc}
}

// carries is what a script is, too, whose servers carry more than the policy, and note errors; see throttles.go.
type carries interface {
	carried(address.Address) backpressure.Carrier
	note(error)
}

// roundTrips are those of a server when it is asked.
type roundTrips struct {
	csot.ZeroRTTMonitor
	rtt time.Duration
}

func (r *roundTrips) Min() time.Duration  { return r.rtt }
func (r *roundTrips) EWMA() time.Duration { return r.rtt }
func (r *roundTrips) Stats() string       { return fmt.Sprintf("round trips of %v", r.rtt) }

// RTTMonitor implements the driver.Server interface.
func (s server) RTTMonitor() driver.RTTMonitor { return &roundTrips{rtt: s.RTT} }

// ProcessError implements the driver.ErrorProcessor interface. No error changes a server of a script.
func (s server) ProcessError(err error, _ mnet.Describer) driver.ProcessErrorResult {
	if carries, ok := any(s.Script).(carries); ok {
		carries.note(err)
	}
	return driver.NoChange
}

// Connection implements the driver.Server interface. A reply that means that there is no connection is used up at once.
func (s server) Connection(ctx context.Context) (*mnet.Connection, error) {
	s.see(ctx, "Server.Connection")
	if s.OnConnection != nil {
		s.OnConnection()
	}
	next := s.next()
	if none, ok := next.(NoConnection); ok {
		s.Replies = s.Replies[1:]
		return nil, none.Err
	}
	if none, ok := next.(connectionError); ok {
		s.Replies = s.Replies[1:]
		return nil, none
	}
	s.open++
	s.connections++
	return mnet.NewConnection(&connection{Script: s.Script, desc: s.desc, number: s.connections}), nil
}

// connection reads commands and answers from the script.
type connection struct {
	*Script
	desc   description.Server
	number int
	pins   int // cursors and transactions that hold it
	closed bool
}

var _ mnet.Pinner = (*connection)(nil)

func (c *connection) Description() description.Server { return c.desc }
func (c *connection) ID() string                      { return string(c.desc.Addr) }
func (c *connection) DriverConnectionID() int64       { return int64(c.number) }
func (c *connection) Alive() bool                     { return !c.closed }
func (c *connection) Expire() error                   { c.Expired++; return c.Close() }
func (c *connection) Address() address.Address        { return c.desc.Addr }
func (c *connection) Stale() bool                     { return false }
func (c *connection) OIDCTokenGenID() uint64          { return 0 }
func (c *connection) SetOIDCTokenGenID(uint64)        {}

// ServerConnectionID returns another number than that of the driver.
func (c *connection) ServerConnectionID() *int64 {
	id := int64(100 + c.number)
	return &id
}

func (c *connection) PinToCursor() error          { return c.pin(1) }
func (c *connection) PinToTransaction() error     { return c.pin(1) }
func (c *connection) UnpinFromCursor() error      { _ = c.pin(-1); return c.UnpinErr }
func (c *connection) UnpinFromTransaction() error { return c.pin(-1) }

func (c *connection) pin(n int) error {
	c.pins += n
	c.pinned += n
	return nil
}

// Close returns the connection, unless it is pinned.
func (c *connection) Close() error {
	if c.pins > 0 {
		return nil
	}
	if !c.closed {
		c.open--
	}
	c.closed = true
	return nil
}

// Write records the command, with its document sequences as arrays.
func (c *connection) Write(ctx context.Context, wm []byte) error {
	c.see(ctx, "Connection.Write")
	require.False(c.t, c.closed, "a command is sent on a connection that was returned to the pool")

	const header, flags, kind = 16, 4, 1
	command, rest, ok := bsoncore.ReadDocument(wm[header+flags+kind:])
	require.True(c.t, ok, "the message holds no command")

	elements := append([]byte(nil), command[4:len(command)-1]...)
	for len(rest) > 0 {
		var name string
		var docs []bsoncore.Document
		_, rest, ok = wiremessage.ReadMsgSectionType(rest)
		require.True(c.t, ok, "the message ends in the middle of a section")
		name, docs, rest, ok = wiremessage.ReadMsgSectionDocumentSequence(rest)
		require.True(c.t, ok, "the message has a malformed document sequence")
		elements = appendDocuments(elements, name, docs)
	}
	c.Sent = append(c.Sent, Sent{c.desc.Addr, c.number, c.open, bson.Raw(bsoncore.BuildDocument(nil, elements))})
	return nil
}

func appendDocuments(dst []byte, name string, docs []bsoncore.Document) []byte {
	values := make([]bsoncore.Value, len(docs))
	for i, doc := range docs {
		values[i] = bsoncore.Value{Type: bsoncore.TypeEmbeddedDocument, Data: doc}
	}
	return bsoncore.BuildArrayElement(dst, name, values...)
}

// Read returns the next reply of the script.
func (c *connection) Read(ctx context.Context) ([]byte, error) {
	c.see(ctx, "Connection.Read")
	if len(c.Replies) == 0 && c.Rest != nil {
		c.Replies = []any{c.Rest}
		if answer, ok := c.Rest.(func(bson.Raw) any); ok {
			c.Replies[0] = answer(c.Sent[len(c.Sent)-1].Command)
		}
	}
	require.NotEmpty(c.t, c.Replies, "command %d has no reply in the script", len(c.Sent))
	reply := c.Replies[0]
	c.Replies = c.Replies[1:]
	if err, ok := reply.(error); ok {
		return nil, err
	}
	doc, err := bson.Marshal(reply)
	require.NoError(c.t, err)
	return message(0, doc), nil
}
