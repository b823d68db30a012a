package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"mongofork/tools/gotest"
	"mongofork/tools/rig/labrun"
	"mongofork/tools/rig/server"
	"mongofork/tools/rig/specs"
	"mongofork/tools/rig/suite"
)

// soakTime is the length of the soak in the suite "soak".
const soakTime = 45 * time.Second

// soakSeed is the plan of the suite "soak". It is always the same, so that only a change can make the suite fail; "rig soak"
// takes a new plan each time.
const soakSeed = "1"

// newRig wires the suites to this machine.
func newRig(root, base string, progress io.Writer) (*suite.Rig, error) {
	pins, err := specs.ReadPins(filepath.Join(root, "etc", "specifications"))
	if err != nil {
		return nil, err
	}
	revisions, err := specs.ReadBase(filepath.Join(root, "etc", "bases", base, "specifications"), pins)
	if err != nil {
		return nil, err
	}
	store := &specs.Store{
		Root: root, Pins: pins, Local: os.Getenv("SPECIFICATIONS"),
		Client: http.DefaultClient, Archive: specs.Archive, Progress: progress,
	}
	labs := labrun.Builder{Root: root, Env: append(os.Environ(), "GOWORK=off"), Tools: suite.OSTools{}}
	return &suite.Rig{
		Root: root, Base: base, Upstream: revisions.Upstream, Fork: revisions.Fork, CI: os.Getenv("CI") == "true", Environ: os.Environ(),
		Tests: gotest.Go{}, Tools: suite.OSTools{}, Builder: newBuilder(root),
		Specifications: func(ctx context.Context, revision string) (string, error) {
			project, err := store.Project(ctx, revision)
			return project, unavailable(err, specs.ErrUnavailable)
		},
		OpenServer: opener(server.Config{Root: root, Progress: progress}),
		Pinned: func(ctx context.Context) bool {
			return server.TakesWheel(ctx, server.Config{Root: root})
		},
		OpenPinned: func(ctx context.Context, name string) (*suite.Server, error) {
			return opener(server.Config{Root: root, Progress: progress, Choice: name})(ctx)
		},
		OpenForm: func(ctx context.Context, form string) (*suite.Server, error) {
			return openForm(ctx, server.Config{Root: root, Progress: progress}, form)
		},
		OpenBehindLab: opener(server.Config{Root: root, Progress: progress, BehindLab: true}),
		OpenLimitable: opener(server.Config{Root: root, Progress: progress, Limitable: true}),
		Platform:      runtime.GOOS + "/" + runtime.GOARCH,
		OpenLab: func(ctx context.Context, topology, backend string) (*suite.Lab, error) {
			return openLab(ctx, labs, "build/"+base, topology, backend)
		},
		OpenMembers: func(ctx context.Context) (*suite.Server, error) { return openMembers(ctx, root, progress) },
		Soak: func(ctx context.Context, driver string, on *suite.Server) (string, error) {
			return soak(ctx, labs, driver, on)
		},
		Limits: func(ctx context.Context, driver string, on *suite.Server) (string, error) {
			return limits(ctx, labs, driver, on)
		},
		Progress: suite.NewProgress(progress, time.Now),
		Now:      time.Now,
	}, nil
}

// openMembers returns members that the soak starts itself.
func openMembers(ctx context.Context, root string, progress io.Writer) (*suite.Server, error) {
	binary, err := server.MembersBinary(ctx, server.Config{Root: root, Progress: progress})
	if err != nil {
		return nil, unavailable(err, server.ErrUnavailable)
	}
	return &suite.Server{Name: "three real members", Binary: binary, Close: func() error { return nil }}, nil
}

// soak runs the lab's soak on real members, or on a server.
func soak(ctx context.Context, labs labrun.Builder, driver string, on *suite.Server) (string, error) {
	binary, err := labs.Build(ctx, driver, labrun.Command)
	if err != nil {
		return "", err
	}
	env := labs.Env
	args := []string{"soak", "--seed", soakSeed, "--duration", soakTime.String()}
	if on.Binary == "" {
		env = withServer(env, on.URI)
	} else {
		dir := filepath.Join(labs.Root, "build", "server")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", err
		}
		args = append(args, "--mongod", on.Binary, "--dir", dir)
	}
	return labs.Tools.Run(ctx, labs.Root, env, binary, args...)
}

// withServer returns an environment with the connection string of a server. The string may have a password, so it is not an
// argument, which every user of the machine could read.
func withServer(env []string, uri string) []string {
	return append(slices.Clone(env), "MONGODB_URI="+uri)
}

// limits runs the lab's program "limits" on a server. A mongod has its own limits; any other server may use the lab's.
func limits(ctx context.Context, labs labrun.Builder, driver string, on *suite.Server) (string, error) {
	binary, err := labs.Build(ctx, driver, labrun.LimitsCommand)
	if err != nil {
		return "", err
	}
	var args []string
	if on.Mongod {
		args = append(args, "--server-only")
	}
	return labs.Tools.Run(ctx, labs.Root, withServer(labs.Env, on.URI), binary, args...)
}

// opener returns a function that finds or starts a server.
func opener(config server.Config) func(context.Context) (*suite.Server, error) {
	return func(ctx context.Context) (*suite.Server, error) {
		s, err := server.Open(ctx, config)
		if err != nil {
			return nil, unavailable(err, server.ErrUnavailable)
		}
		name := fmt.Sprintf("server %s from %s", s.Version, s.Origin)
		switch s.Origin {
		case server.Wheel:
			name = "mongod " + s.Version
		case server.SecantusDB:
			name = "SecantusDB " + s.Version
		}
		return &suite.Server{URI: s.URI, Name: name, Mongod: s.Origin == server.Mongod, Close: s.Close}, nil
	}
}

// openForm starts a replica set of three, secured or plain.
func openForm(ctx context.Context, config server.Config, form string) (*suite.Server, error) {
	topology, err := server.ParseTopology(defaultTopology)
	if err != nil {
		return nil, err
	}
	secured := form != "plain"
	s, err := server.OpenForm(ctx, config, server.Form{Topology: topology, TLS: secured, Users: secured})
	if err != nil {
		return nil, unavailable(err, server.ErrUnavailable)
	}
	env, err := s.DriverTests()
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return &suite.Server{URI: s.URI, Name: "mongod " + s.Version, Env: env, Close: s.Close}, nil
}

// openLab starts a lab that is built with the driver of a folder below the root.
func openLab(ctx context.Context, labs labrun.Builder, driver, topology, backend string) (*suite.Lab, error) {
	binary, err := labs.Build(ctx, driver, labrun.Command)
	if err != nil {
		return nil, err
	}
	l, err := labrun.Serve(ctx, binary, labs.Env, topology, backend)
	if err != nil {
		return nil, err
	}
	return &suite.Lab{Env: l.Env, Close: l.Close}, nil
}

// unavailable marks an error that wraps missing as one for which the suites have a skip.
func unavailable(err, missing error) error {
	if errors.Is(err, missing) {
		return fmt.Errorf("%w: %w", suite.ErrUnavailable, err)
	}
	return err
}
