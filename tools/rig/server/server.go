// Package server gives tests and demonstrations a real MongoDB server: the one that MONGODB_URI names, a mongod from the PATH, or
// a pinned one that pip installs by its hash. What it starts are child processes that end with this one.
package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"mongofork/tools/rig/pypi"
)

// ErrUnavailable means that no server is available on this machine. The text of an error that wraps it is one line: what is
// missing and what to do about it. A server that was found but does not work is another error.
var ErrUnavailable = errors.New("no MongoDB server is available")

// Names of servers, in $SERVER and in Config, in the order of the search.
const (
	// Given is the server that MONGODB_URI names.
	Given = "uri"
	// Path is a mongod from the PATH.
	Path = "path"
	// Pinned is the mongod in the pinned wheel from PyPI.
	Pinned = "mongod"
	// SecantusDB is the pinned SecantusDB from PyPI, started as a replica set of one.
	SecantusDB = "secantus"
)

// startTimeout limits how long a server may take until it answers as a primary, on a busy machine.
const startTimeout = 2 * time.Minute

// givenTimeout limits how long a server that is said to run may take.
const givenTimeout = 10 * time.Second

// Config says which server is wanted. Root and Progress are required.
type Config struct {
	// Root is the root of the repository: the pins are in etc/server, installations and data in build/server.
	Root string
	// Progress receives a line for every step that takes a while.
	Progress io.Writer
	// Name is the name of the only server to look for. The default is the value of SERVER or, without one, the first available.
	Name string
	// Topology is what is started of mongods of any version: "standalone", "replicaset:N" or "sharded:N". Without one it is a replica
	// set of three of a version with overload errors, and a server that is no mongod will do as well.
	Topology string
	// Users makes clients of what is started authenticate; Topology is required.
	Users bool
	// Limitable starts the mongod from the PATH so that clients can switch on its limits, and still work with them. It has no effect on
	// other servers.
	Limitable bool
}

// maxSize is the largest number of voting members of a replica set.
const maxSize = 7

// form returns the size of a replica set, or the number of a sharded cluster's routers; both are 0 for a standalone.
func (c Config) form() (members, routers int, err error) {
	kind, number, sized := strings.Cut(c.Topology, ":")
	size, err := strconv.Atoi(number)
	switch good := err == nil && size >= 1 && size <= maxSize; {
	case c.Topology == "" && c.Limitable:
		return 1, 0, nil
	case c.Topology == "":
		return 3, 0, nil
	case kind == "standalone" && !sized:
		return 0, 0, nil
	case kind == "replicaset" && good:
		return size, 0, nil
	case kind == "sharded" && good && !c.Users:
		return 0, size, nil
	}
	return 0, 0, fmt.Errorf("topology %q: want standalone, replicaset:N or, without users, sharded:N, N from 1 to %d",
		c.Topology, maxSize)
}

// Server is a server that answers as a writable primary.
type Server struct {
	// URI connects to the server, its replica set name included.
	URI string
	// Version is what the server says it is, such as 8.2.11.
	Version string
	// Name says which of the servers it is.
	Name string
	// Env is the environment in which upstream's tests find the server.
	Env []string

	deployment *Deployment
}

// String names the server with its version.
func (s *Server) String() string {
	product := "mongod"
	if s.Name == SecantusDB {
		product = "SecantusDB"
	}
	return product + " " + s.Version
}

// Wait waits until the context ends. If the deployment was started here and ends first, it returns why.
func (s *Server) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-s.deployment.running.Done():
		return s.deployment.Err()
	}
}

// Close stops the server and removes its files if it was started here, and leaves it alone otherwise.
func (s *Server) Close() error { return s.deployment.Stop() }

// Open finds or starts a server and returns when it answers as a writable primary. The caller must Close it. The error wraps
// ErrUnavailable if there is no server, and nothing to start one with.
func Open(ctx context.Context, cfg Config) (*Server, error) {
	cfg.Name = cmp.Or(cfg.Name, os.Getenv("SERVER"))
	if _, _, err := cfg.form(); err != nil {
		return nil, err
	}
	var names, reasons []string
	for _, f := range []struct {
		name string
		open func(context.Context, Config) (*Deployment, error)
	}{{Given, given}, {Path, started(findMongod)}, {Pinned, started(installMongod)}, {SecantusDB, startSecantus}} {
		if cfg.Topology != "" && (f.name == Given || f.name == SecantusDB) {
			continue
		}
		names = append(names, f.name)
		if cfg.Name != "" && cfg.Name != f.name {
			continue
		}
		d, err := f.open(ctx, cfg)
		switch {
		case err == nil:
			s := &Server{URI: d.uri, Version: d.version, Name: f.name, Env: []string{"MONGODB_URI=" + d.uri}, deployment: d}
			if d.user != nil {
				s.Env = append(s.Env, "AUTH=auth")
			}
			fmt.Fprintf(cfg.Progress, "%s: %v %s\n", s.Name, s, strings.Join(reasons, "; "))
			return s, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case !errors.Is(err, pypi.ErrUnavailable):
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		if f.name != Given || cfg.Name == Given { // an unset MONGODB_URI is not worth a message
			reasons = append(reasons, err.Error())
		}
	}
	if len(reasons) == 0 {
		return nil,
			fmt.Errorf("SERVER=%s is not available for this; name one of %s, or leave it out to take the first available one",
				cfg.Name, strings.Join(names, ", "))
	}
	return nil, fmt.Errorf("%w: %s: install mongod >= %s or Python %s, or set MONGODB_URI",
		ErrUnavailable, strings.Join(reasons, "; "), oldestMongod, pypi.Range)
}

// folder is that of installations, data and logs.
func (c Config) folder() string { return filepath.Join(c.Root, "build", "server") }

// given uses a server that is already running.
func given(ctx context.Context, _ Config) (*Deployment, error) {
	uri := os.Getenv("MONGODB_URI")
	if uri == "" {
		return nil, pypi.Absent("MONGODB_URI is not set")
	}
	opts := optionsFor(uri)
	if err := opts.Validate(); err != nil {
		return nil, fmt.Errorf("MONGODB_URI is not a connection string such as mongodb://127.0.0.1:27017/; "+
			"correct it, or unset it to have a server started: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, givenTimeout)
	defer cancel()
	version, err := awaitPrimary(ctx, uri)
	if err != nil {
		return nil, fmt.Errorf("the server that MONGODB_URI names does not answer as a primary; "+
			"start it, or unset MONGODB_URI to have one started: %w", err)
	}
	return &Deployment{uri: uri, version: version, running: context.Background()}, nil
}
