package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Names of the replica sets that a sharded cluster consists of.
const (
	configReplicaSet = "config"
	shardReplicaSet  = "shard"
)

// OpenTopology starts a deployment of the mongod on the PATH, and of the mongos for a sharded cluster, of whatever version
// they are, with test commands enabled. The caller must Close it. The error wraps ErrUnavailable when a program is missing.
func OpenTopology(ctx context.Context, cfg Config, topology Topology) (_ *Server, err error) {
	d := &deployment{cfg: cfg.withDefaults()}
	ctx, cancel := context.WithTimeoutCause(ctx, d.cfg.StartTimeout,
		fmt.Errorf("it was not ready within %v", d.cfg.StartTimeout))
	defer cancel()
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("start the %s deployment: %w%s", topology.kind, err, d.logs()), closeAll(d.children))
		}
	}()
	uri, err := d.build(ctx, topology)
	if err != nil {
		return nil, err
	}
	version, err := awaitPrimary(ctx, d.cfg.StartTimeout, uri)
	if err != nil {
		return nil, err
	}
	d.cfg.progressf("%s of version %s: %s", topology.kind, version, uri)
	return &Server{URI: uri, Version: version, Origin: Mongod, children: d.children}, nil
}

// deployment is a deployment that is being started.
type deployment struct {
	cfg      Config
	children []*child
}

// build starts and configures the processes and returns the URI for clients.
func (d *deployment) build(ctx context.Context, t Topology) (string, error) {
	switch t.kind {
	case standalone:
		address, err := d.mongod(ctx)
		return "mongodb://" + address + "/", err
	case replicaSet:
		addresses, err := d.replicaSet(ctx, mongodReplicaSet, t.size)
		return replicaSetURI(mongodReplicaSet, addresses...), err
	default:
		addresses, err := d.cluster(ctx, t.size)
		return "mongodb://" + strings.Join(addresses, ",") + "/", err
	}
}

// cluster starts a sharded cluster of one shard and returns the addresses of its mongos.
func (d *deployment) cluster(ctx context.Context, size int) ([]string, error) {
	config, err := d.replicaSet(ctx, configReplicaSet, 1, "--configsvr")
	if err != nil {
		return nil, err
	}
	shard, err := d.replicaSet(ctx, shardReplicaSet, 1, "--shardsvr")
	if err != nil {
		return nil, err
	}
	var routers []string
	for range size {
		address, err := d.start(ctx, "mongos", func(_, port string) ([]string, error) {
			return append([]string{"--configdb", configReplicaSet + "/" + config[0]}, serverArgs(port)...), nil
		})
		if err != nil {
			return nil, err
		}
		routers = append(routers, address)
	}
	return routers, runAdmin(ctx, routers[0], bson.D{{Key: "addShard", Value: shardReplicaSet + "/" + shard[0]}})
}

// replicaSet starts a replica set and returns the addresses of its members when it has a primary.
func (d *deployment) replicaSet(ctx context.Context, name string, size int, role ...string) ([]string, error) {
	var addresses []string
	for range size {
		address, err := d.mongod(ctx, append([]string{"--replSet", name}, role...)...)
		if err != nil {
			return nil, err
		}
		addresses = append(addresses, address)
	}
	if err := initiateReplicaSet(ctx, name, addresses...); err != nil {
		return nil, err
	}
	_, err := awaitPrimary(ctx, d.cfg.StartTimeout, replicaSetURI(name, addresses...))
	return addresses, err
}

// mongod starts a mongod and returns its address.
func (d *deployment) mongod(ctx context.Context, role ...string) (string, error) {
	return d.start(ctx, "mongod", func(dir, port string) ([]string, error) {
		data := filepath.Join(dir, "data")
		return append(append([]string{"--dbpath", data}, role...), serverArgs(port)...), os.Mkdir(data, 0o700)
	})
}

// start starts a program of the PATH and returns its address when it answers there.
func (d *deployment) start(ctx context.Context, program string, args func(dir, port string) ([]string, error)) (string, error) {
	path, err := d.cfg.LookPath(program)
	if err != nil {
		return "", fmt.Errorf("%w: no %s on the PATH; install the MongoDB server", ErrUnavailable, program)
	}
	c, address, err := startListener(d.cfg, func(dir, port string) (command, error) {
		list, err := args(dir, port)
		return command{path: path, args: list}, err
	})
	if err != nil {
		return "", fmt.Errorf("start %s: %w", path, err)
	}
	d.children = append(d.children, c)
	if err := runAdmin(ctx, address, bson.D{{Key: "ping", Value: 1}}); err != nil {
		return "", fmt.Errorf("%s does not answer: %w", path, err)
	}
	return address, nil
}

// logs returns the ends of the logs of all processes, for an error message.
func (d *deployment) logs() string {
	var text strings.Builder
	for _, c := range d.children {
		fmt.Fprintf(&text, "\nthe end of the log of %s:\n%s", strings.Join(c.cmd.Args, " "), c.logTail())
	}
	return text.String()
}
