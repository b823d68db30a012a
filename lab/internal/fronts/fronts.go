// Package fronts puts fronts before a server, so that applications see a deployment in which every part can be made to fail.
package fronts

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"

	"go.mongodb.org/mongo-driver/v2/bson"
	"golang.org/x/sync/errgroup"

	"mongofork/lab/internal/bsondoc"
	"mongofork/lab/internal/failpoint"
	"mongofork/lab/internal/overload"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/topology"
	"mongofork/tools/rig/server"
)

// anyPort is where fronts listen: the lab lets its clients do anything, so it is for this machine only.
const anyPort = "127.0.0.1:0"

// Config configures a lab.
type Config struct {
	// Members is a replica set, with a front before each member.
	Members *server.Deployment
	// Backend is the address of the server of which, without members, the fronts make a topology.
	Backend  string
	Topology topology.Spec
	// Logger receives a line for every connection that ends with an error. Nil disables the log.
	Logger *slog.Logger
}

// Lab is a deployment.
type Lab struct {
	config Config
	fronts []*front
}

// front is one address of the lab.
type front struct {
	listener net.Listener
	proxy    *proxy.Front
	limits   *overload.Front
	silence  silence
}

// StartMembers starts a real replica set, for Config.Members. Its files are in a new folder below dir; the caller must stop it.
func StartMembers(ctx context.Context, mongod, dir string, count int) (*server.Deployment, error) {
	return server.Start(ctx, server.Options{Binary: mongod, Dir: dir, Members: count, ReplicaSet: topology.SetName})
}

// Open returns a lab whose fronts listen. They serve once Run is called, which is required.
func Open(config Config) (*Lab, error) {
	if config.Members != nil {
		config.Topology = topology.Spec{Kind: topology.ReplicaSet, Members: len(config.Members.Members())}
	}
	spec := config.Topology
	l := &Lab{config: config}
	for i := range spec.Fronts() {
		listener, err := net.Listen("tcp", anyPort)
		if err != nil {
			return nil, fmt.Errorf("front %d: %w", i, err)
		}
		l.fronts = append(l.fronts, &front{listener: listener, limits: overload.NewFront()})
	}
	names, made := make(memberHandler), topology.New(spec, l.Hosts())
	for i, f := range l.fronts {
		// The order of handlers follows a server's: silence first; then the limit, because a server limits requests before it looks
		// at them; then the topology, which lets a hello wait for news; then fail points. Real members have fail points of their
		// own.
		p := proxy.Config{Backend: config.Backend, Accept: f.limits.Accept, Logger: config.Logger,
			Handlers: []proxy.Handler{l.Handle, f.silence.Handle, f.limits.Handle}}
		if config.Members != nil {
			p.Backend = config.Members.Members()[i].Address()
			names[p.Backend] = l.Hosts()[i]
			p.Handlers = append(p.Handlers, names.Handle)
		} else {
			p.Handlers = append(p.Handlers, made.Handler(i), failpoint.New(spec.Routes()).Handle)
		}
		f.proxy = proxy.New(p)
	}
	return l, nil
}

// Run serves until the context ends, and then returns nil; or until a front fails. Nothing is left when it returns.
func (l *Lab) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, f := range l.fronts {
		group.Go(func() error { return f.proxy.Serve(ctx, f.listener) })
	}
	return group.Wait()
}

// Hosts returns the addresses of the fronts.
func (l *Lab) Hosts() []string {
	hosts := make([]string, len(l.fronts))
	for i, f := range l.fronts {
		hosts[i] = f.listener.Addr().String()
	}
	return hosts
}

// URIs returns the applications' connection strings for the lab.
func (l *Lab) URIs() []string { return l.config.Topology.URIs(l.Hosts()) }

// memberHandler makes a front stand for a real member: clients see the addresses of the fronts instead of the members'. It is given the
// fronts' names by the members' names.
type memberHandler map[string]string

// Handle is a proxy.Handler. The member answers hellos itself, and waits for changes if asked to.
func (h memberHandler) Handle(ctx context.Context, req *proxy.Request, next proxy.Next) (bson.Raw, error) {
	reply, err := next(ctx, req)
	if err != nil || !proxy.IsHello(req.Command) {
		return reply, err
	}
	var fields bson.D
	if err := bson.Unmarshal(reply, &fields); err != nil {
		return nil, err
	}
	for i := range fields {
		fields[i].Value = h.rename(fields[i].Value)
	}
	return bsondoc.Marshal(fields), nil
}

// rename returns what replaces the name of a member, or a list of them, and any other value.
func (h memberHandler) rename(value any) any {
	switch value := value.(type) {
	case string:
		return cmp.Or(h[value], value)
	case bson.A:
		for i := range value {
			value[i] = h.rename(value[i])
		}
	}
	return value
}
