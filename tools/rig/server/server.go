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
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"mongofork/tools/rig/pypi"
)

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
	// Users makes clients of what is started, which are mongods then, authenticate.
	Users bool
}

var topologies = regexp.MustCompile(`^(?:standalone|replicaset:([1-7])|sharded:([1-7]))$`)

// form returns the size of a replica set, or the number of a sharded cluster's routers; both are 0 for a standalone.
func (c Config) form() (members, routers int, err error) {
	match := topologies.FindStringSubmatch(cmp.Or(c.Topology, "replicaset:3"))
	if match == nil || match[2] != "" && c.Users {
		return 0, 0, fmt.Errorf("topology %q: want standalone, replicaset:N or, without users, sharded:N, N from 1 to 7",
			c.Topology)
	}
	members, _ = strconv.Atoi(match[1]) // of nothing it makes 0
	routers, _ = strconv.Atoi(match[2])
	return members, routers, nil
}

// folder is that of installations, data and logs.
func (c Config) folder() string { return filepath.Join(c.Root, "build", "server") }

// Open finds or starts a server and returns when it answers as a writable primary. The caller must Stop it. The error wraps
// pypi.ErrUnavailable if there is no server, and nothing to start one with.
func Open(ctx context.Context, cfg Config) (d *Deployment, err error) {
	_, routers, err := cfg.form()
	if err != nil {
		return nil, err
	}
	names := []string{Path, Pinned}
	switch {
	case routers > 0:
		names = []string{Path} // the pinned wheel has no mongos
	case cfg.Topology == "" && !cfg.Users:
		names = append(names, SecantusDB)
		if os.Getenv("MONGODB_URI") != "" {
			names = slices.Insert(names, 0, Given)
		}
	}
	cfg.Name = cmp.Or(cfg.Name, os.Getenv("SERVER"))
	reasons, err := cfg.search(ctx, names, func(name string) (err error) {
		switch name {
		case Given:
			d, err = given(ctx)
		case SecantusDB:
			d, err = startSecantus(ctx, cfg)
		default:
			d, err = startMongods(ctx, cfg, name)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	d.Name = cfg.Name
	fmt.Fprintf(cfg.Progress, "%s: %v %s\n", d.Name, d, reasons)
	return d, nil
}

// search tries the named servers, or the only one that is wanted, until one is available. That is the only one that is wanted then. It
// returns why none before it is.
func (c *Config) search(ctx context.Context, names []string, try func(name string) error) (reasons string, err error) {
	if c.Name != "" && !slices.Contains(names, c.Name) {
		return "", fmt.Errorf("SERVER or MONGODB_URI asks for %q, which cannot be had for this; name one of %s with SERVER, "+
			"or unset both to take the first available one", c.Name, strings.Join(names, ", "))
	}
	var all []string
	for _, name := range names {
		if c.Name != "" && c.Name != name {
			continue
		}
		err := try(name)
		switch {
		case err == nil:
			c.Name = name
			return strings.Join(all, "; "), nil
		case ctx.Err() != nil:
			return "", ctx.Err()
		case !errors.Is(err, pypi.ErrUnavailable):
			return "", fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, err.Error())
	}
	return "", pypi.Absent("no MongoDB server is available: %s: install mongod >= %s or Python %s, or, for other "+
		"tests than those that start and end members, set MONGODB_URI", strings.Join(all, "; "), oldestMongod, pypi.Range)
}

// given is a server that is already running.
func given(ctx context.Context) (*Deployment, error) {
	d := &Deployment{URI: os.Getenv("MONGODB_URI"), running: context.Background()}
	ctx, cancel := context.WithTimeout(ctx, givenTimeout)
	defer cancel()
	if err := d.awaitPrimary(ctx); err != nil {
		return nil, fmt.Errorf("the server that MONGODB_URI names does not answer as a primary; "+
			"start it, or unset MONGODB_URI to have one started: %w", err)
	}
	return d, nil
}
