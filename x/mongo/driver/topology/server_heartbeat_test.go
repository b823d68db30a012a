package topology

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/internal/assert"
	"go.mongodb.org/mongo-driver/v2/internal/require"
	"go.mongodb.org/mongo-driver/v2/internal/scripted"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
)

// steppingClock shows the time that it is set to. To wait sets it, unless the context has ended, and is recorded.
type steppingClock struct {
	manualClock
	slept []time.Duration
}

func (c *steppingClock) Sleep(ctx, _ context.Context, _ <-chan struct{}, d time.Duration) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.slept = append(c.slept, d)
	c.time = c.time.Add(d)
	return nil
}

// closingConn is a connection that the server closes as soon as it is read from.
type closingConn struct {
	net.Conn
	err error
}

func (c closingConn) Write(p []byte) (int, error) { return len(p), nil }
func (c closingConn) Read([]byte) (int, error)    { return 0, c.err }

// breakableConn is a connection that can break.
type breakableConn struct {
	net.Conn
	broken *atomic.Bool
}

func (c breakableConn) Read(p []byte) (int, error) {
	if c.broken.Load() {
		return 0, io.EOF
	}
	return c.Conn.Read(p)
}

// watched is a server that is checked by hand, and reached by a scripted dialer.
type watched struct {
	*Server
	clock  steppingClock
	dials  int
	dial   func(network, address string) (net.Conn, error)
	broken atomic.Bool
}

// watch returns a server that a client with adaptiveThrottling watches, unless the options say otherwise.
func watch(t *testing.T, uri string, opts *options.ClientOptions) *watched {
	if opts.AdaptiveThrottling == nil {
		opts.SetAdaptiveThrottling(true)
	}
	w := &watched{clock: steppingClock{manualClock: manualClock{time.Unix(1, 0)}}}
	dialer := DialerFunc(func(_ context.Context, network, address string) (net.Conn, error) {
		w.dials++
		return w.dial(network, address)
	})
	cfg, err := NewConfig(opts.ApplyURI(uri).SetDialer(dialer), nil)
	require.NoError(t, err)
	cfg.overload.Clock, cfg.overload.Jitter = &w.clock, func() float64 { return 0.5 }
	w.Server = NewServer(
		address.Address(opts.Hosts[0]),
		newTopology(t, options.Client()).id,
		defaultConnectionTimeout,
		cfg.ServerOpts...)
	t.Cleanup(func() {
		if w.conn != nil {
			_ = w.conn.close()
		}
	})
	return w
}

// answer lets the server answer the connections that are dialled from now on.
func (w *watched) answer() {
	w.broken.Store(false)
	w.dial = func(network, address string) (net.Conn, error) {
		nc, err := net.Dial(network, address)
		return breakableConn{nc, &w.broken}, err
	}
}

// closeWith lets the server close them, which is seen as such an error.
func (w *watched) closeWith(err error) {
	w.dial = func(string, string) (net.Conn, error) {
		nc, _ := net.Pipe()
		return closingConn{nc, err}, nil
	}
}

// fail lets dialling fail.
func (w *watched) fail(err error) {
	w.dial = func(string, string) (net.Conn, error) { return nil, err }
}

// TestHeartbeatsBackOff is about how long a monitor waits before a check, beyond what it always does.
func TestHeartbeatsBackOff(t *testing.T) {
	const known, unknown = description.ServerKindRSPrimary, description.Unknown
	closed := func(w *watched) { w.closeWith(io.EOF) }
	type step struct {
		name   string
		before func(*watched)
		slept  time.Duration // zero for not at all
		kind   description.ServerKind
	}
	second := func(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
	opError := func(op string, err error) error { return &net.OpError{Op: op, Net: "tcp", Err: err} }
	failed := func(err error) func(*watched) { return func(w *watched) { w.fail(err) } }
	readFails := func(err error) func(*watched) { return func(w *watched) { w.closeWith(err) } }
	later := func(d time.Duration, next func(*watched)) func(*watched) {
		return func(w *watched) {
			w.clock.time = w.clock.time.Add(d)
			next(w)
		}
	}

	tests := []struct {
		name    string
		options *options.ClientOptions
		steps   []step
	}{
		{name: "the server is well", options: options.Client(), steps: []step{
			{name: "first", before: (*watched).answer, slept: 0, kind: known},
			{name: "second", before: (*watched).answer, slept: 0, kind: known},
		}},
		{name: "without adaptiveThrottling", options: options.Client().SetAdaptiveThrottling(false), steps: []step{
			{name: "first", before: closed, slept: 0, kind: unknown},
			{name: "second", before: closed, slept: 0, kind: unknown},
			{name: "admitted", before: (*watched).answer, slept: 0, kind: known},
		}},
		{name: "turned away again and again, then admitted", options: options.Client(), steps: []step{
			{name: "first", before: closed, slept: 0, kind: unknown},
			{name: "second", before: closed, slept: second(1), kind: unknown},
			{name: "third", before: closed, slept: second(1), kind: unknown},
			{name: "fourth", before: closed, slept: second(1), kind: unknown},
			{name: "admitted", before: (*watched).answer, slept: second(1), kind: known},
			{name: "well", before: (*watched).answer, slept: 0, kind: known},
		}},
		{name: "it counts from the end of the check before", options: options.Client(), steps: []step{
			{name: "first", before: closed, slept: 0, kind: unknown},
			{name: "half a second later", before: later(second(0.5), closed), slept: second(0.5), kind: unknown},
			{name: "ten seconds later", before: later(second(10), closed), slept: 0, kind: unknown},
			{name: "right after", before: closed, slept: second(1), kind: unknown},
		}},
		{name: "no later than the heartbeat", options: options.Client().SetHeartbeatInterval(700 * time.Millisecond), steps: []step{
			{name: "first", before: closed, slept: 0, kind: unknown},
			{name: "second", before: closed, slept: second(0.7), kind: unknown},
		}},
		{name: "every way to be closed", options: options.Client(), steps: []step{
			{name: "in the middle", before: readFails(io.ErrUnexpectedEOF), slept: 0, kind: unknown},
			{name: "reset", before: readFails(opError("read", syscall.ECONNRESET)), slept: second(1), kind: unknown},
			{name: "broken pipe", before: readFails(opError("write", syscall.EPIPE)), slept: second(1), kind: unknown},
			{name: "end", before: closed, slept: second(1), kind: unknown},
		}},
		{name: "a server that is down is found when it is up", options: options.Client(), steps: []step{
			{name: "refused", before: failed(opError("dial", syscall.ECONNREFUSED)), slept: 0, kind: unknown},
			{name: "no such host", before: failed(opError("dial", &net.DNSError{IsNotFound: true})), slept: 0, kind: unknown},
			{name: "no answer", before: readFails(opError("read", context.DeadlineExceeded)), slept: 0, kind: unknown},
			{name: "up", before: (*watched).answer, slept: 0, kind: known},
		}},
		{name: "another error starts anew", options: options.Client(), steps: []step{
			{name: "first", before: closed, slept: 0, kind: unknown},
			{name: "second", before: closed, slept: second(1), kind: unknown},
			{name: "refused", before: failed(opError("dial", syscall.ECONNREFUSED)), slept: second(1), kind: unknown},
			{name: "closed", before: closed, slept: 0, kind: unknown},
			{name: "closed again", before: closed, slept: second(1), kind: unknown},
		}},
		// server-monitoring.md, "Network or command error during server check": "the client MUST NOT sleep".
		{name: "a known server is checked again at once", options: options.Client(), steps: []step{
			{name: "well", before: (*watched).answer, slept: 0, kind: known},
			{name: "lost", before: func(w *watched) { w.broken.Store(true); closed(w) }, slept: 0, kind: unknown},
			{name: "at once", before: closed, slept: 0, kind: unknown},
			{name: "only then", before: (*watched).answer, slept: second(1), kind: known},
		}},
	}
	for _, tt := range tests {
		tt := tt
		t.Run(tt.name, func(t *testing.T) {
			l := scripted.Listen(t, scripted.OK(), nil)
			w := watch(t, l.URI(), tt.options)
			for _, step := range tt.steps {
				step.before(w)
				w.clock.slept = nil
				desc, err := w.check(context.Background())
				require.NoError(t, err, step.name)
				assert.Equal(t, step.kind.String(), desc.Kind.String(), "%s: %v", step.name, desc.LastError)
				var want []time.Duration
				if step.slept > 0 {
					want = []time.Duration{step.slept}
				}
				assert.Equal(t, want, w.clock.slept, step.name)
				w.desc.Store(desc)
			}
		})
	}
}

// TestHeartbeatBackoffIsCancelled is about a client that disconnects meanwhile: nothing is dialled, and what is left of the wait stays.
func TestHeartbeatBackoffIsCancelled(t *testing.T) {
	w := watch(t, "mongodb://a", options.Client())
	w.closeWith(io.EOF)
	_, err := w.check(context.Background())
	require.NoError(t, err)

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = w.check(ctx)
	assert.Equal(t, errCheckCancelled, err)
	assert.Equal(t, 1, w.dials)

	_, err = w.check(context.Background())
	require.NoError(t, err)
	assert.Equal(t, []time.Duration{time.Second}, w.clock.slept)
	assert.Equal(t, 2, w.dials)
}

// TestServerWithoutOverloadPolicyIsNotPaced is about servers that others make than the client.
func TestServerWithoutOverloadPolicyIsNotPaced(t *testing.T) {
	dialed := 0
	server := NewServer("a", newTopology(t, options.Client()).id, defaultConnectionTimeout,
		WithConnectionOptions(func(opts ...ConnectionOption) []ConnectionOption {
			return append(opts, WithDialer(func(Dialer) Dialer {
				return DialerFunc(func(context.Context, string, string) (net.Conn, error) {
					dialed++
					return nil, io.EOF
				})
			}))
		}))
	for i := 0; i < 3; i++ {
		_, err := server.check(context.Background())
		require.NoError(t, err)
	}
	assert.Equal(t, 3, dialed)
}

// TestRoundTripTimeWaits is about the second connection of the monitoring, which a server that turned the first one away is spared for
// an interval.
func TestRoundTripTimeWaits(t *testing.T) {
	errLater := errors.New("measured")
	tests := []struct {
		name    string
		options *options.ClientOptions
		closed  bool
		slept   []time.Duration
	}{
		{name: "the server is well", options: options.Client(), closed: false, slept: nil},
		{name: "the server turned the monitor away", options: options.Client(), closed: true,
			slept: []time.Duration{10 * time.Second}},
		{name: "without adaptiveThrottling", options: options.Client().SetAdaptiveThrottling(false), closed: true},
	}
	for _, tt := range tests {
		tt := tt
		t.Run(tt.name, func(t *testing.T) {
			w := watch(t, "mongodb://a", tt.options)
			w.closeWith(io.EOF)
			if tt.closed {
				_, err := w.check(context.Background())
				require.NoError(t, err)
			}
			w.clock.slept = nil
			dialed := make(chan []time.Duration, 1)
			w.dial = func(string, string) (net.Conn, error) {
				dialed <- w.clock.slept
				return nil, errLater
			}
			w.rttMonitor.connect()
			assert.Equal(t, tt.slept, <-dialed)
			w.rttMonitor.disconnect()
		})
	}
}

// patientClock waits until contexts end.
type patientClock struct {
	manualClock
	waits chan time.Duration
}

func (c *patientClock) Sleep(ctx, _ context.Context, _ <-chan struct{}, d time.Duration) error {
	c.waits <- d
	<-ctx.Done()
	return ctx.Err()
}

// TestDisconnectEndsHeartbeatBackoff is about the whole monitor: Disconnect waits for it.
func TestDisconnectEndsHeartbeatBackoff(t *testing.T) {
	before := runtime.NumGoroutine()
	l := scripted.Listen(t, scripted.OK(), nil)
	l.Refuse.Store(1)
	clock := &patientClock{manualClock: manualClock{time.Unix(1, 0)}, waits: make(chan time.Duration)}
	cfg, err := NewConfig(options.Client().ApplyURI(l.URI()).SetAdaptiveThrottling(true), nil)
	require.NoError(t, err)
	cfg.overload.Clock, cfg.overload.Jitter = clock, func() float64 { return 0 }
	topology, err := New(cfg)
	require.NoError(t, err)
	require.NoError(t, topology.Connect())
	for _, server := range topology.servers {
		server.RequestImmediateCheck()
	}
	assert.Equal(t, 500*time.Millisecond, <-clock.waits)
	require.NoError(t, topology.Disconnect(context.Background()))
	assertGoroutines(t, before+1) // and the listener's
}

func TestPauseAfter(t *testing.T) {
	const frequency = 10 * time.Second
	tests := []struct {
		name      string
		jitter    float64
		frequency time.Duration
		want      time.Duration
	}{
		{name: "never sooner than the specification permits", jitter: 0, frequency: frequency, want: 500 * time.Millisecond},
		{name: "jitter", jitter: 0.5, frequency: frequency, want: 1000 * time.Millisecond},
		{name: "longest", jitter: 1, frequency: frequency, want: 1500 * time.Millisecond},
		{name: "a frequent heartbeat", jitter: 1, frequency: 700 * time.Millisecond, want: 700 * time.Millisecond},
		{name: "the most frequent heartbeat", jitter: 1, frequency: 500 * time.Millisecond, want: 500 * time.Millisecond},
	}
	for _, tt := range tests {
		if got := pauseAfter(tt.jitter, tt.frequency); got != tt.want {
			t.Errorf("%s: pauseAfter(%v, %v) = %v, want %v", tt.name, tt.jitter, tt.frequency, got, tt.want)
		}
	}
}
