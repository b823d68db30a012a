// Package deployment puts fronts before a server, so that applications see a deployment in which everything can be made to fail.
package deployment

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"golang.org/x/sync/errgroup"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/clock"
	"mongofork/lab/internal/failpoint"
	"mongofork/lab/internal/fault"
	"mongofork/lab/internal/members"
	"mongofork/lab/internal/metrics"
	"mongofork/lab/internal/overload"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/topology"
	"mongofork/lab/internal/wire"
)

// Host is where fronts listen: the lab lets its clients do anything, so it is for this machine only.
const Host = "127.0.0.1"

// Config configures a lab.
type Config struct {
	Topology topology.Spec
	Options  topology.Options
	// Backend is the one server behind all fronts, except for the topology "members".
	Backend proxy.Backend
	// Members is the real replica set of that topology, with a front before each.
	Members *members.Set
	// Port is the first front's port; the others follow. 0 takes any free ports.
	Port int
	// TLS is the configuration for clients' connections; nil for none.
	TLS *tls.Config
	// Capacity is the capacity of each front; nil for no limit but the backend's.
	Capacity *overload.CapacityConfig
	// Rejection is the error of requests beyond the limit of a front; empty for overload.RequestRate.
	Rejection overload.Rejection
	// Observers see every request first, at any front.
	Observers []proxy.Handler
	// Logger receives a line for every connection that ends with an error. Nil disables the log.
	Logger *slog.Logger
}

// Cluster is the state of a deployment, simulated or real.
type Cluster interface {
	// Handler returns the handler that makes a front that member.
	Handler(front int) proxy.Handler
	Status() topology.Status
	// StepDown makes the primary a secondary that is not elected for that long.
	StepDown(period time.Duration) error
	// Down and Up report that a front became unreachable, and that it is back.
	Down(front int)
	Up(front int)
	// Close cancels pending elections and the like.
	Close()
}

// Lab is a deployment.
type Lab struct {
	config   Config
	clock    clock.Clock
	cluster  Cluster
	metrics  *metrics.Recorder
	sessions proxy.Sessions // of the backend
	fronts   []*front
}

// Open returns a lab whose fronts listen. They serve once Run is called, which is required.
func Open(config Config) (*Lab, error) {
	l := &Lab{config: config, clock: clock.System{}}
	if err := l.open(); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *Lab) open() error {
	if (l.config.Topology.Kind == topology.Members) != (l.config.Members != nil) {
		return fmt.Errorf("topology %v: members and no others make the topology %q", l.config.Topology, topology.Members)
	}
	for i := range l.backends() {
		port := l.config.Port
		if port != 0 {
			port += i
		}
		listener, err := net.Listen("tcp", net.JoinHostPort(Host, strconv.Itoa(port)))
		if err != nil {
			return fmt.Errorf("front %d: %w; choose another port, or 0 for any", i, err)
		}
		l.fronts = append(l.fronts, newFront(listener))
	}
	if err := l.assemble(); err != nil {
		return err
	}
	l.metrics = metrics.New(l.Hosts())
	for i, f := range l.fronts {
		if err := l.chain(i, f); err != nil {
			return err
		}
	}
	return nil
}

// backends returns the servers behind the fronts.
func (l *Lab) backends() []proxy.Backend {
	if l.config.Members == nil {
		return slices.Repeat([]proxy.Backend{l.config.Backend}, l.config.Topology.Fronts())
	}
	var backends []proxy.Backend
	for _, m := range l.config.Members.Members() {
		backends = append(backends, m.Backend)
	}
	return backends
}

// assemble makes a deployment of the fronts.
func (l *Lab) assemble() error {
	if l.config.Members != nil {
		l.cluster = l.config.Members
		return l.config.Members.Fronts(l.Hosts())
	}
	cluster, err := topology.New(l.config.Topology, l.Hosts(), l.config.Options)
	if err != nil {
		return err
	}
	l.cluster = cluster
	return nil
}

// turns returns the sessions' turns at the one backend; real members take care of that themselves.
func (l *Lab) turns() *proxy.Sessions {
	if l.config.Members != nil {
		return nil
	}
	return &l.sessions
}

// chain builds the handlers of a front's requests. The counter comes first, so that it sees everything; the host's faults come
// before those of the server; a server limits requests before it looks at them; fail points come after the topology, which splits
// a stream of hellos into single ones, each of which may fail.
func (l *Lab) chain(i int, f *front) error {
	connections, err := overload.NewConnectionLimiter(l.clock, overload.Unlimited())
	if err != nil {
		return err
	}
	limits, err := l.limits(connections)
	if err != nil {
		return err
	}
	failpoints, err := failpoint.New(failpoint.Config{
		Random: rand.Float64, Wait: l.clock.Wait, Router: l.config.Topology.Routes(),
	})
	if err != nil {
		return err
	}
	handlers := append(slices.Clone(l.config.Observers), l.metrics.Handler(i), &f.faults)
	handlers = append(handlers, limits...)
	f.admin = []proxy.Handler{limits[0], failpoints}
	f.down, f.up = func() { l.cluster.Down(i) }, func() { l.cluster.Up(i) }
	f.proxy, err = proxy.New(proxy.Config{
		Backend:   l.backends()[i],
		Acceptors: []proxy.Acceptor{&f.faults, connections},
		Handlers:  append(handlers, l.cluster.Handler(i), failpoints),
		Sessions:  l.turns(),
		TLS:       l.config.TLS,
		Logger:    l.logger(f.address),
	})
	return err
}

// limits returns the handlers that shed load at a front: the limiters, which setParameter controls, and the capacity, if any.
func (l *Lab) limits(connections *overload.ConnectionLimiter) ([]proxy.Handler, error) {
	config := overload.RequestLimiterConfig{Clock: l.clock, Limit: overload.Unlimited(), Rejection: l.config.Rejection}
	var last []proxy.Handler
	if l.config.Capacity != nil {
		capacity, err := overload.NewCapacity(*l.config.Capacity)
		if err != nil {
			return nil, err
		}
		config.Capacity, last = capacity, []proxy.Handler{capacity}
	}
	requests, err := overload.NewRequestLimiter(config)
	if err != nil {
		return nil, err
	}
	return append([]proxy.Handler{
		overload.NewParameters(requests, connections), requests, overload.NewStatus(requests, connections),
	}, last...), nil
}

// Administer runs setParameter or configureFailPoint at a front, exempt from its limits and faults. A command that the lab does
// not answer itself is an error.
func (l *Lab) Administer(ctx context.Context, front int, command bson.D) error {
	doc, err := bson.Marshal(append(slices.Clone(command), bson.E{Key: "$db", Value: "admin"}))
	if err != nil {
		return err
	}
	req, err := proxy.NewRequest(&proxy.Client{}, &wire.Message{Content: &wire.Msg{Body: doc}})
	if err != nil {
		return err
	}
	administer := proxy.Chain(l.fronts[front].admin, func(context.Context, *proxy.Request, proxy.ReplyFunc) error {
		return fmt.Errorf("%s is the server's to answer", req.Command)
	})
	var failure error
	err = administer(ctx, req, func(m *wire.Message) error {
		if !bsondoc.Succeeded(m.Document()) {
			failure = fmt.Errorf("%s: %v", req.Command, m.Document())
		}
		return nil
	})
	return errors.Join(err, failure)
}

func (l *Lab) logger(address string) *slog.Logger {
	if l.config.Logger == nil {
		return nil
	}
	return l.config.Logger.With("front", address)
}

// Run serves until the context ends, and then returns nil; or until a front fails. Nothing is left when it returns.
func (l *Lab) Run(ctx context.Context) error {
	defer l.close()
	group, ctx := errgroup.WithContext(ctx)
	for _, f := range l.fronts {
		group.Go(func() error { return f.run(ctx) })
	}
	return group.Wait()
}

func (l *Lab) close() {
	if l.cluster != nil {
		l.cluster.Close()
	}
	for _, f := range l.fronts {
		f.close()
	}
}

// Hosts returns the addresses of the fronts.
func (l *Lab) Hosts() []string {
	hosts := make([]string, len(l.fronts))
	for i, f := range l.fronts {
		hosts[i] = f.address
	}
	return hosts
}

// Endpoints returns the applications' connection strings for the lab.
func (l *Lab) Endpoints() []topology.Endpoint {
	name := topology.SetName
	if l.config.Members != nil {
		name = l.config.Members.Name()
	}
	return l.config.Topology.Endpoints(l.Hosts(), name, l.TLS())
}

// TLS reports whether clients have to connect with TLS.
func (l *Lab) TLS() bool { return l.config.TLS != nil }

// Metrics returns the recorder of the requests.
func (l *Lab) Metrics() *metrics.Recorder { return l.metrics }

// Cluster returns the deployment's state.
func (l *Lab) Cluster() Cluster { return l.cluster }

// Members returns the real replica set behind the fronts, or nil.
func (l *Lab) Members() *members.Set { return l.config.Members }

// ErrNoFront is returned for a front's number that is too high or below 0.
var ErrNoFront = errors.New("there is no such front")

// SetFault replaces a front's fault. It ends by itself after that time, if it is more than 0.
func (l *Lab) SetFault(front int, f fault.Fault, duration time.Duration) error {
	if front < 0 || front >= len(l.fronts) {
		return fmt.Errorf("front %d: %w; they are numbered from 0 to %d", front, ErrNoFront, len(l.fronts)-1)
	}
	if err := f.Check(); err != nil {
		return err
	}
	if duration < 0 {
		return fmt.Errorf("a fault for %v: give a time of 0, which is until further notice, or more", duration)
	}
	l.fronts[front].set(f, duration)
	return nil
}

// Faults returns the fronts' faults.
func (l *Lab) Faults() []fault.Fault {
	faults := make([]fault.Fault, len(l.fronts))
	for i, f := range l.fronts {
		faults[i] = f.faults.Current()
	}
	return faults
}
