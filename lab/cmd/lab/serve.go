package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"mongofork/lab/internal/clock"
	"mongofork/lab/internal/control"
	"mongofork/lab/internal/deployment"
	"mongofork/lab/internal/members"
	"mongofork/lab/internal/overload"
	"mongofork/lab/internal/proxy"
	"mongofork/lab/internal/topology"
)

// environment is the commands' environment.
type environment struct {
	ctx            context.Context
	stdout, stderr io.Writer
}

// labFlags configure the lab.
type labFlags struct {
	Backend       string        `env:"MONGODB_URI" placeholder:"URI" help:"Connection string of the server, with one host, or of the replica set for the topology members."`
	Mongod        string        `type:"existingfile" placeholder:"FILE" help:"Start the members of the topology members:N with this mongod, instead of using a backend."`
	Dir           string        `type:"existingdir" default:"." placeholder:"DIR" help:"Folder for the started members' files, which are removed at the end."`
	Port          int           `placeholder:"PORT" help:"Port of the first front; the others follow. 0 takes any free ports."`
	MetricsPort   int           `placeholder:"PORT" help:"Port of /metrics, /counts, /status and the control requests. 0 takes any free port."`
	ElectionDelay time.Duration `default:"500ms" help:"How long a replica set has no primary after losing one."`
	Capacity      float64       `placeholder:"N" help:"Requests that each front serves in a second; more wait, and are rejected if too many do. The default is no limit."`
	Queue         int           `default:"100" help:"Requests that may wait at a front with a capacity."`
	RejectionCost float64       `default:"0.1" help:"Share of a request's work that its rejection takes."`
	Rejection     string        `default:"462" enum:"462,462-before-8.2.6,463,473" help:"Error of requests beyond a limit or the capacity: 462 (retryable, no writes), 462 without NoWritesPerformed as before 8.2.6, 463 (retryable, no writes) or 473 (not retryable)."`
	TLSCert       string        `type:"existingfile" and:"tls" placeholder:"FILE" help:"Certificate for client connections (PEM)."`
	TLSKey        string        `type:"existingfile" and:"tls" placeholder:"FILE" help:"Its key (PEM)."`
}

// rejection returns the error that the flag names.
func rejection(flag string) overload.Rejection {
	switch flag {
	case "462-before-8.2.6":
		return overload.RequestRateBefore826
	case "463":
		return overload.OperationRate
	case "473":
		return overload.Interrupted
	default:
		return overload.RequestRate
	}
}

// config returns the configuration that the flags describe.
func (f *labFlags) config(spec topology.Spec, log io.Writer) (deployment.Config, error) {
	config := deployment.Config{
		Topology: spec, Options: topology.Options{ElectionDelay: f.ElectionDelay}, Port: f.Port,
		Rejection: rejection(f.Rejection), Logger: slog.New(slog.NewTextHandler(log, nil)),
	}
	if f.Capacity != 0 {
		config.Capacity = &overload.CapacityConfig{
			Clock: clock.System{}, RequestsPerSec: f.Capacity, MaxQueueDepth: f.Queue, RejectionShare: f.RejectionCost,
			Rejection: config.Rejection,
		}
	}
	if f.TLSCert != "" {
		certificate, err := tls.LoadX509KeyPair(f.TLSCert, f.TLSKey)
		if err != nil {
			return deployment.Config{}, fmt.Errorf("--tls-cert and --tls-key: %w", err)
		}
		config.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	}
	return config, nil
}

// behind finds or starts the server or members behind the lab. The returned function ends them.
func (f *labFlags) behind(ctx context.Context, config *deployment.Config) (func() error, error) {
	nothing := func() error { return nil }
	real := config.Topology.Kind == topology.Members
	switch {
	case f.Mongod != "" && !real:
		return nil, fmt.Errorf("--mongod starts members: give --topology %s:3", topology.Members)
	case f.Mongod != "":
		own, err := members.Start(ctx, f.Mongod, f.Dir, config.Topology.Members)
		if err != nil {
			return nil, err
		}
		config.Members = own.Set
		return own.Stop, nil
	case f.Backend == "":
		return nil, errors.New("missing flags: --backend=URI, or --mongod=FILE for the topology members:N")
	case real:
		set, err := members.Discover(ctx, f.Backend)
		config.Members = set
		return nothing, err
	default:
		backend, err := proxy.ParseBackend(f.Backend)
		config.Backend = backend
		return nothing, err
	}
}

type serveCmd struct {
	labFlags
	Topology string `default:"replicaset:3" help:"What clients see: standalone, replicaset:N, sharded:N or loadbalanced:N, made of one server; or members, a real replica set."`
}

// Run serves until the context ends.
func (c *serveCmd) Run(env *environment) error {
	spec, err := topology.ParseSpec(c.Topology)
	if err != nil {
		return err
	}
	config, err := c.config(spec, env.stderr)
	if err != nil {
		return err
	}
	return c.serve(env, config, nil)
}

// serve runs a lab and its control until the context ends, or a function that runs meanwhile returns.
func (f *labFlags) serve(env *environment, config deployment.Config, meanwhile func(context.Context, *deployment.Lab) error) (err error) {
	end, err := f.behind(env.ctx, &config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	l, err := deployment.Open(config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(env.ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return l.Run(ctx) })
	group.Go(func() error { return serveControl(ctx, l, f.MetricsPort, env.stdout) })
	group.Go(func() error {
		live := env.stderr // so that scripts can read the addresses from the other
		if isTerminal(env.stdout) {
			live = env.stdout
		}
		show(ctx, l, live)
		return nil
	})
	if meanwhile != nil {
		group.Go(func() error {
			defer cancel()
			return meanwhile(ctx, l)
		})
	}
	return group.Wait()
}

// serveControl prints all addresses, and serves the control requests until the context ends.
func serveControl(ctx context.Context, l *deployment.Lab, port int, out io.Writer) error {
	handler, err := control.New(l)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(deployment.Host, strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("--metrics-port: %w", err)
	}
	for _, endpoint := range l.Endpoints() {
		fmt.Fprintf(out, "%s=%s\n", endpoint.Name, endpoint.URI)
	}
	fmt.Fprintf(out, "LAB_URL=http://%s\n", listener.Addr())

	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
