package driver_test

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/csot"
	"go.mongodb.org/mongo-driver/v2/internal/driverutil"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/internal/uuid"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/mnet"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/session"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

// script is a deployment whose servers answer with a list of replies, in order, whichever of them is asked. It has an
// overload policy with a jitter of 0.5, and it is the clock that the policy waits with.
type script struct {
	t       *testing.T
	kind    description.TopologyKind
	servers []description.Server
	replies []any // a bson.D, or the error of a broken connection
	onSleep func()

	policy   *driver.OverloadPolicy
	sent     []sentTo
	slept    []time.Duration
	open     int // connections that are checked out
	selected []address.Address
}

// sentTo is a command as it came to a server.
type sentTo struct {
	server  address.Address
	command bson.Raw
}

var (
	_ driver.Deployment      = (*script)(nil)
	_ driver.OverloadRetrier = (*script)(nil)
	_ driver.Clock           = (*script)(nil)
)

func newScript(t *testing.T, replies ...any) *script {
	s := &script{
		t:       t,
		kind:    description.TopologyKindReplicaSetWithPrimary,
		servers: []description.Server{mockServer("a", description.ServerKindRSPrimary)},
		replies: replies,
	}
	s.policy = &driver.OverloadPolicy{
		Policy: retry.Policy{RetryReads: true, RetryWrites: true, Jitter: func() float64 { return 0.5 }},
		Clock:  s,
	}
	return s
}

func mockServer(host string, kind description.ServerKind) description.Server {
	minutes := int64(30)
	return description.Server{
		Addr:                  address.Address(host + ":27017"),
		Kind:                  kind,
		MaxBatchCount:         2,
		MaxDocumentSize:       16 * 1024 * 1024,
		MaxMessageSize:        48 * 1000 * 1000,
		SessionTimeoutMinutes: &minutes,
		WireVersion:           &description.VersionRange{Max: driverutil.MaxWireVersion},
	}
}

func (s *script) OverloadPolicy() *driver.OverloadPolicy   { return s.policy }
func (s *script) Kind() description.TopologyKind           { return s.kind }
func (s *script) GetServerSelectionTimeout() time.Duration { return 0 }
func (s *script) Now() time.Time                           { return time.Now() }

// Sleep notes the backoff. No connection may be held during one.
func (s *script) Sleep(ctx context.Context, d time.Duration) error {
	require.Equal(s.t, 0, s.open, "%d connections are checked out during a backoff", s.open)
	s.slept = append(s.slept, d)
	if s.onSleep != nil {
		s.onSleep()
	}
	return ctx.Err()
}

// SelectServer selects the first server that the selector leaves.
func (s *script) SelectServer(_ context.Context, selector description.ServerSelector) (driver.Server, error) {
	suitable, err := selector.SelectServer(description.Topology{Kind: s.kind, Servers: s.servers}, s.servers)
	if err != nil {
		return nil, err
	}
	s.selected = append(s.selected, suitable[0].Addr)
	return scriptServer{s, suitable[0]}, nil
}

type scriptServer struct {
	*script
	desc description.Server
}

func (s scriptServer) RTTMonitor() driver.RTTMonitor { return &csot.ZeroRTTMonitor{} }

func (s scriptServer) Connection(context.Context) (*mnet.Connection, error) {
	s.open++
	return mnet.NewConnection(&scriptConn{script: s.script, desc: s.desc}), nil
}

type scriptConn struct {
	*script
	desc   description.Server
	closed bool
}

func (c *scriptConn) Description() description.Server { return c.desc }
func (c *scriptConn) ID() string                      { return string(c.desc.Addr) }
func (c *scriptConn) ServerConnectionID() *int64      { return nil }
func (c *scriptConn) DriverConnectionID() int64       { return 0 }
func (c *scriptConn) Address() address.Address        { return c.desc.Addr }
func (c *scriptConn) Stale() bool                     { return false }
func (c *scriptConn) OIDCTokenGenID() uint64          { return 0 }
func (c *scriptConn) SetOIDCTokenGenID(uint64)        {}

func (c *scriptConn) Close() error {
	if !c.closed {
		c.open--
	}
	c.closed = true
	return nil
}

// Write notes the command, with its document sequences as arrays.
func (c *scriptConn) Write(_ context.Context, wm []byte) error {
	require.False(c.t, c.closed, "a command is sent on a connection that was given back")

	const header, flags = 16, 4
	command, rest, ok := bsoncore.ReadDocument(wm[header+flags+1:])
	require.True(c.t, ok, "the message holds no command")

	elements := command[4 : len(command)-1]
	for len(rest) > 0 {
		_, rest, ok = wiremessage.ReadMsgSectionType(rest)
		require.True(c.t, ok)
		var name string
		var docs []bsoncore.Document
		name, docs, rest, ok = wiremessage.ReadMsgSectionDocumentSequence(rest)
		require.True(c.t, ok)
		values := make([]bsoncore.Value, len(docs))
		for i, doc := range docs {
			values[i] = bsoncore.Value{Type: bsoncore.TypeEmbeddedDocument, Data: doc}
		}
		elements = append(elements[:len(elements):len(elements)], bsoncore.BuildArrayElement(nil, name, values...)...)
	}
	c.sent = append(c.sent, sentTo{c.desc.Addr, bson.Raw(bsoncore.BuildDocument(nil, elements))})
	return nil
}

func (c *scriptConn) Read(context.Context) ([]byte, error) {
	require.NotEmpty(c.t, c.replies, "command %d has no reply in the script", len(c.sent))
	reply := c.replies[0]
	c.replies = c.replies[1:]
	if err, ok := reply.(error); ok {
		return nil, err
	}
	doc, err := bson.Marshal(reply)
	require.NoError(c.t, err)

	idx, wm := wiremessage.AppendHeaderStart(nil, wiremessage.NextRequestID(), 0, wiremessage.OpMsg)
	wm = wiremessage.AppendMsgFlags(wm, 0)
	wm = wiremessage.AppendMsgSectionType(wm, wiremessage.SingleDocument)
	wm = append(wm, doc...)
	return bsoncore.UpdateLength(wm, idx, int32(len(wm))), nil
}

// The replies that the scripts are made of.
var (
	ok         = bson.D{{Key: "ok", Value: 1}}
	overloaded = failure(462, driver.SystemOverloadedError, driver.RetryableError)
	// rejected is what servers from 8.2.6 on reply.
	rejected     = failure(462, driver.SystemOverloadedError, driver.RetryableError, driver.NoWritesPerformed)
	shuttingDown = failure(91, driver.RetryableWriteError)
)

func failure(code int, labels ...string) bson.D {
	return bson.D{
		{Key: "ok", Value: 0},
		{Key: "code", Value: code},
		{Key: "errmsg", Value: "scripted"},
		{Key: "errorLabels", Value: labels},
	}
}

// command returns an operation of no type and no name, as runCommand is.
func (s *script) command() driver.Operation {
	return driver.Operation{
		CommandFn: func(dst []byte, _ description.SelectedServer) ([]byte, error) {
			return bsoncore.AppendInt32Element(dst, "anything", 1), nil
		},
		Database:   "db",
		Deployment: s,
	}
}

// read returns a retryable read, which a secondary may answer.
func (s *script) read() driver.Operation {
	op := s.command()
	op.Type = driver.Read
	op.RetryMode = retryMode(driver.RetryOncePerCommand)
	op.ReadPreference = readpref.Nearest()
	return op
}

// write returns a retryable write in an implicit session.
func (s *script) write() driver.Operation {
	op := s.command()
	op.Type = driver.Write
	op.RetryMode = retryMode(driver.RetryOncePerCommand)
	op.Client = session.NewImplicitClientSession(session.NewPool(nil), uuid.UUID{})
	return op
}

// transaction returns a write in a transaction that has just been started.
func (s *script) transaction() driver.Operation {
	op := s.command()
	op.Type = driver.Write
	op.Client = newSession(s.t)
	require.NoError(s.t, op.Client.StartTransaction(nil))
	return op
}

func newSession(t *testing.T) *session.Client {
	client, err := session.NewClientSession(session.NewPool(nil), uuid.UUID{})
	require.NoError(t, err)
	require.NoError(t, client.SetServer())
	return client
}

func retryMode(mode driver.RetryMode) *driver.RetryMode { return &mode }

// execute runs the operation and checks what holds for all: each connection was given back, and each reply was used.
func (s *script) execute(ctx context.Context, op driver.Operation) error {
	err := op.Execute(ctx)
	require.Equal(s.t, 0, s.open, "%d connections were not given back", s.open)
	require.Empty(s.t, s.replies, "%d replies were not asked for", len(s.replies))
	return err
}

// field returns the values of a command field over all commands sent; nil where it was missing.
func (s *script) field(path ...string) []any {
	var values []any
	for _, sent := range s.sent {
		var value any
		if raw, err := sent.command.LookupErr(path...); err == nil {
			require.NoError(s.t, raw.Unmarshal(&value))
		}
		values = append(values, value)
	}
	return values
}
