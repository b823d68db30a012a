// Package fronts puts fronts before a server, so that applications see a deployment in which everything can be made to fail.
package fronts

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"mongofork/lab/internal/failpoint"
	"mongofork/lab/internal/fault"
	"mongofork/lab/internal/overload"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/realset"
	"mongofork/lab/internal/topology"
)

// Host is where fronts listen: the lab lets its clients do anything, so it is for this machine only.
const Host = "127.0.0.1"

// Config configures a lab.
type Config struct {
	Topology topology.Spec
	// Backend is the address of the one server behind all fronts, except for the topology "members".
	Backend string
	// Members is the real replica set of that topology, with a front before each.
	Members *realset.Set
	// Observers see every request first, at any front.
	Observers []proxy.Handler
	// Logger receives a line for every connection that ends with an error. Nil disables the log.
	Logger *slog.Logger
}

// Lab is a deployment.
type Lab struct {
	config Config
	fronts []*front
	closed []func()
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
	handler := func(int) proxy.Handler { return l.config.Members.Handler(l.Hosts()) }
	if l.config.Members == nil {
		made, err := topology.New(l.config.Topology, l.Hosts())
		if err != nil {
			return err
		}
		handler, l.closed = made.Handler, append(l.closed, made.Close)
	}
	for i, f := range l.fronts {
		l.chain(f, backends[i], handler(i))
	}
	return nil
}

// chain builds the handlers of a front's requests. The host's faults come before those of the server; a server limits requests
// before it looks at them; fail points come after the handler of its topology, which splits a stream of hellos into single ones, each
// of which may fail.
func (l *Lab) chain(f *front, backend string, member proxy.Handler) {
	f.proxy = proxy.New(proxy.Config{
		Backend:   backend,
		Acceptors: []proxy.Acceptor{&f.faults, f.limits},
		Handlers: slices.Concat(l.config.Observers, []proxy.Handler{
			l, &f.faults, f.limits, member, failpoint.New(l.config.Topology.Routes()),
		}),
		Logger: l.config.Logger,
	})
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
		name = realset.SetName
	}
	return l.config.Topology.Endpoints(l.Hosts(), name)
}

// Limits returns the limits of a front.
func (l *Lab) Limits(front int) *overload.Front { return l.fronts[front].limits }

// SetFault replaces a front's fault by one that ends by itself after a time, unless that is 0.
func (l *Lab) SetFault(front int, kind fault.Kind, after time.Duration) error {
	if front < 0 || front >= len(l.fronts) {
		return fmt.Errorf("there is no front %d; they are numbered from 0 to %d", front, len(l.fronts)-1)
	}
	l.fronts[front].faults.Set(kind, after)
	if kind == fault.Reset {
		l.fronts[front].proxy.Reset()
	}
	return nil
}

// HasFault reports whether that is a front's fault.
func (l *Lab) HasFault(front int, kind fault.Kind) bool { return l.fronts[front].faults.Is(kind) }
