// Package deployment puts fronts before a server, so that applications see a deployment in which everything can be made to fail.
package deployment

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"mongofork/lab/internal/failpoint"
	"mongofork/lab/internal/fault"
	"mongofork/lab/internal/members"
	"mongofork/lab/internal/overload"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/topology"
)

// Host is where fronts listen: the lab lets its clients do anything, so it is for this machine only.
const Host = "127.0.0.1"

// electionDelay is the time for which a made replica set has no primary after it lost one.
const electionDelay = 500 * time.Millisecond

// Config configures a lab.
type Config struct {
	Topology topology.Spec
	// Backend is the address of the one server behind all fronts, except for the topology "members".
	Backend string
	// Members is the real replica set of that topology, with a front before each.
	Members *members.Set
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
}

// Lab is a deployment.
type Lab struct {
	config  Config
	cluster Cluster
	fronts  []*front
	closed  []func()
}

// front is one address of the lab.
type front struct {
	listener net.Listener
	proxy    *proxy.Front
	limits   *overload.Front
	faults   fault.Switch
}

// Open returns a lab whose fronts listen. They serve once Run is called, which is required.
func Open(config Config) (*Lab, error) {
	l := &Lab{config: config}
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
	backends := slices.Repeat([]string{l.config.Backend}, l.config.Topology.Fronts())
	if l.config.Members != nil {
		backends = l.config.Members.Backends()
	}
	for i := range backends {
		listener, err := net.Listen("tcp", net.JoinHostPort(Host, "0"))
		if err != nil {
			return fmt.Errorf("front %d: %w", i, err)
		}
		l.closed = append(l.closed, func() { listener.Close() })
		l.fronts = append(l.fronts, &front{listener: listener, limits: overload.NewFront()})
	}
	if l.config.Members != nil {
		l.cluster = l.config.Members.Behind(l.Hosts())
	} else {
		made, err := topology.New(l.config.Topology, l.Hosts(), topology.Options{ElectionDelay: electionDelay})
		if err != nil {
			return err
		}
		l.cluster, l.closed = made, append(l.closed, made.Close)
	}
	for i, f := range l.fronts {
		if err := l.chain(i, f, backends[i]); err != nil {
			return err
		}
	}
	return nil
}

// chain builds the handlers of a front's requests. The host's faults come before those of the server; a server limits requests before it looks at them; fail points come after the topology, which splits
// a stream of hellos into single ones, each of which may fail.
func (l *Lab) chain(i int, f *front, backend string) (err error) {
	logger := l.config.Logger
	if logger != nil {
		logger = logger.With("front", f.listener.Addr().String())
	}
	f.proxy, err = proxy.New(proxy.Config{
		Backend:   backend,
		Acceptors: []proxy.Acceptor{&f.faults, f.limits},
		Handlers: slices.Concat(l.config.Observers, []proxy.Handler{
			&f.faults, f.limits, l.cluster.Handler(i), failpoint.New(l.config.Topology.Routes()),
		}),
		Logger: logger,
	})
	return err
}

// Run serves until the context ends, and then returns nil; or until a front fails. Nothing is left when it returns.
func (l *Lab) Run(ctx context.Context) error {
	defer l.close()
	group, ctx := errgroup.WithContext(ctx)
	for _, f := range l.fronts {
		group.Go(func() error { return f.proxy.Serve(ctx, f.listener) })
	}
	return group.Wait()
}

func (l *Lab) close() {
	for _, end := range l.closed {
		end()
	}
}

// Hosts returns the addresses of the fronts.
func (l *Lab) Hosts() []string {
	hosts := make([]string, len(l.fronts))
	for i, f := range l.fronts {
		hosts[i] = f.listener.Addr().String()
	}
	return hosts
}

// Endpoints returns the applications' connection strings for the lab.
func (l *Lab) Endpoints() []topology.Endpoint {
	name := topology.SetName
	if l.config.Members != nil {
		name = members.SetName
	}
	return l.config.Topology.Endpoints(l.Hosts(), name)
}

// Cluster returns the deployment's state.
func (l *Lab) Cluster() Cluster { return l.cluster }

// Members returns the real replica set behind the fronts, or nil.
func (l *Lab) Members() *members.Set { return l.config.Members }

// Limits returns the limits of a front.
func (l *Lab) Limits(front int) *overload.Front { return l.fronts[front].limits }

// ErrNoFront is returned for a front's number that is too high or below 0.
var ErrNoFront = errors.New("there is no such front")

// SetFault replaces a front's fault.
func (l *Lab) SetFault(front int, f fault.Fault) error {
	if front < 0 || front >= len(l.fronts) {
		return fmt.Errorf("front %d: %w; they are numbered from 0 to %d", front, ErrNoFront, len(l.fronts)-1)
	}
	if err := f.Check(); err != nil {
		return err
	}
	l.fronts[front].faults.Set(f)
	if f.Kind == fault.Reset {
		l.fronts[front].proxy.Reset()
	}
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
