// Package scripted provides a deployment that answers from a script, to test the driver under overload without a server and
// without passing time.
package scripted

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/internal/backpressure"
	"go.mongodb.org/mongo-driver/v2/internal/driverutil"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/retry"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// Script is a deployment whose servers together answer from one ordered list of replies. It has an overload policy with the
// numbers of the specification's revision of 2026-03-12 and a jitter of 0.5, and is that policy's clock. The fields may be
// changed before the first operation. It is not safe for concurrent use.
type Script struct {
	backpressure.Carrier
	Topology description.TopologyKind
	Servers  []description.Server
	Policy   *backpressure.Policy

	// Replies are the remaining replies. Each is a bson.D, the error of a broken connection, or what ends an attempt earlier: a
	// NoServer, a NoConnection or the error of a connection, such as BrokenHandshake.
	Replies []any
	// Rest, if set, is the reply to all commands after the last of the Replies, or a func(bson.Raw) any that is given the command and
	// returns its reply.
	Rest any
	// OnSleep, if set, is called during each backoff.
	OnSleep func()

	// OnSelect, if set, is called before each server selection, which fails with its error.
	OnSelect func() error

	// OnConnection, if set, is called when a connection is checked out.
	OnConnection func()

	// OnContext, if set, is called with each context that the deployment, a server or a connection is given, and the method's name.
	OnContext func(ctx context.Context, method string)

	// UnpinErr is the error of unpinning a connection from a cursor.
	UnpinErr error

	// RTT is the time of the servers' round trips.
	RTT time.Duration

	// Sent are the commands that reached the servers.
	Sent []Sent
	// Slept are the backoffs.
	Slept []time.Duration
	// Elapsed is the sum of the backoffs, and the time that has passed on the clock.
	Elapsed time.Duration
	// Selected are the servers that were selected.
	Selected []address.Address
	// Expired is the number of pinned connections that are of no further use.
	Expired int

	t           testing.TB
	begin       time.Time // on the clock
	connections int       // that were ever checked out
	open        int       // connections that are checked out
	pinned      int       // connections that a cursor or transaction holds
}

// Sent is a command as a server received it.
type Sent struct {
	Server     address.Address
	Connection int // the number of the connection, from 1
	Held       int // how many are checked out
	Command    bson.Raw
}

var (
	_ driver.Deployment  = (*Script)(nil)
	_ driver.Subscriber  = (*Script)(nil)
	_ backpressure.Clock = (*Script)(nil)
)

// New returns a script for a replica set of one server, the primary "a:27017".
func New(t testing.TB, replies ...any) *Script {
	s := &Script{
		Topology: description.TopologyKindReplicaSetWithPrimary,
		Servers:  []description.Server{Server("a", description.ServerKindRSPrimary)},
		Replies:  replies,
		t:        t,
		begin:    time.Now(),
	}
	s.Carrier = backpressure.Carry(&s.Policy)
	s.Policy = &backpressure.Policy{
		Policy: retry.Policy{
			RetryReads: true, RetryWrites: true,
			MaxRetries: 5, FirstBackoff: retry.BaseBackoff, Jitter: func() float64 { return 0.5 },
		},
		Retarget: true,
		Clock:    s,
	}
	return s
}

// MaxBatchCount is the number of documents that the servers take in one batch.
const MaxBatchCount = 2

// Server returns the description of a server at port 27017 of the host.
func Server(host string, kind description.ServerKind) description.Server {
	return description.Server{
		Addr:                  address.Address(host + ":27017"),
		Kind:                  kind,
		MaxBatchCount:         MaxBatchCount,
		MaxDocumentSize:       16 * 1024 * 1024,
		MaxMessageSize:        48 * 1000 * 1000,
		SessionTimeoutMinutes: sessionTimeoutMinutes(),
		WireVersion:           &description.VersionRange{Max: driverutil.MaxWireVersion},
	}
}

func sessionTimeoutMinutes() *int64 {
	minutes := int64(30)
	return &minutes
}

// Kind implements the driver.Deployment interface.
func (s *Script) Kind() description.TopologyKind { return s.Topology }

// GetServerSelectionTimeout implements the driver.Deployment interface. There is no timeout.
func (s *Script) GetServerSelectionTimeout() time.Duration { return 0 }

// SelectServer implements the driver.Deployment interface. It selects the first server that the selector returns, or the load balancer.
func (s *Script) SelectServer(ctx context.Context, selector description.ServerSelector) (driver.Server, error) {
	s.see(ctx, "Deployment.SelectServer")
	if s.OnSelect != nil {
		if err := s.OnSelect(); err != nil {
			return nil, err
		}
	}
	if none, ok := s.next().(NoServer); ok {
		s.Replies = s.Replies[1:]
		return nil, none.Err
	}
	suitable := s.Servers
	if s.Topology != description.TopologyKindLoadBalanced { // as in package topology
		var err error
		suitable, err = selector.SelectServer(description.Topology{Kind: s.Topology, Servers: s.Servers}, s.Servers)
		if err != nil {
			return nil, err
		}
	}
	require.NotEmpty(s.t, suitable, "no server is suitable")
	s.Selected = append(s.Selected, suitable[0].Addr)
	return s.server(suitable[0]), nil
}

func (s *Script) see(ctx context.Context, method string) {
	if s.OnContext != nil {
		s.OnContext(ctx, method)
	}
}

// next returns the next reply, or nil if none is left.
func (s *Script) next() any {
	if len(s.Replies) == 0 {
		return nil
	}
	return s.Replies[0]
}

// Subscribe implements the driver.Subscriber interface, for the session pool of a mongo.Client.
func (s *Script) Subscribe() (*driver.Subscription, error) {
	updates := make(chan description.Topology, 1)
	updates <- description.Topology{Kind: s.Topology, SessionTimeoutMinutes: sessionTimeoutMinutes()}
	return &driver.Subscription{Updates: updates}, nil
}

// Unsubscribe implements the driver.Subscriber interface.
func (s *Script) Unsubscribe(*driver.Subscription) error { return nil }

// Now implements the backpressure.Clock interface. Only backoffs take time on this clock, however long the test itself takes; deadlines
// are on the machine's, which is ahead by that.
func (s *Script) Now() time.Time { return s.begin.Add(s.Elapsed) }

// Sleep implements the backpressure.Clock interface. It records the backoff, during which only cursors and transactions may hold a
// connection, and advances the clock. A backoff during which the context ends is recorded, too.
func (s *Script) Sleep(ctx, caller context.Context, closed <-chan struct{}, d time.Duration) error {
	require.Equal(s.t, s.pinned, s.open, "%d connections are checked out during a backoff, %d are pinned", s.open, s.pinned)
	if caller == nil {
		caller = ctx
	}
	if err := firstErr(ctx, caller, closed); err != nil {
		return err
	}
	s.Slept = append(s.Slept, d)
	s.Elapsed += d
	if s.OnSleep != nil {
		s.OnSleep()
	}
	return firstErr(ctx, caller, closed)
}

func firstErr(ctx, caller context.Context, closed <-chan struct{}) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-closed:
		return backpressure.ErrDisconnected
	default:
		return caller.Err()
	}
}

// Execute executes the operation and checks that each connection was returned and each reply used.
func (s *Script) Execute(ctx context.Context, op driver.Operation) error {
	err := op.Execute(ctx)
	s.Finish()
	return err
}

// Finish checks that each connection was returned and each reply used.
func (s *Script) Finish() {
	require.Equal(s.t, 0, s.open, "%d connections were not given back", s.open)
	require.Empty(s.t, s.Replies, "%d replies were not asked for", len(s.Replies))
}

// Field returns the values of a field of all commands sent; nil where a command lacks it.
func (s *Script) Field(path ...string) []any {
	values := make([]any, 0, len(s.Sent))
	for _, sent := range s.Sent {
		var value any
		if raw, err := sent.Command.LookupErr(path...); err == nil {
			require.NoError(s.t, raw.Unmarshal(&value))
		}
		values = append(values, value)
	}
	return values
}
