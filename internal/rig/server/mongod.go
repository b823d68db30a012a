package server

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"golang.org/x/mod/semver"
)

const (
	// oldestMongod is the first release series whose behaviour under overload the
	// tests are about.
	oldestMongod = "8.2"

	mongodReplicaSet = "rig"
)

var mongodVersion = regexp.MustCompile(`(?m)^db version (v\d+\.\d+\.\d+\S*)`)

// findMongod returns the path and the version of a mongod that is new enough, or
// an error that says in a few words why there is none.
func findMongod(ctx context.Context, cfg Config) (path, version string, err error) {
	path, err = cfg.LookPath("mongod")
	if err != nil {
		return "", "", fmt.Errorf("no mongod on the PATH")
	}
	output, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return "", "", fmt.Errorf("%s --version fails (%w)", path, err)
	}
	version, err = parseMongodVersion(string(output))
	if err != nil {
		return "", "", fmt.Errorf("%s --version: %w", path, err)
	}
	// A release candidate of the oldest series has what is needed, too.
	if semver.Compare(semver.MajorMinor(version), "v"+oldestMongod) < 0 {
		return "", "", fmt.Errorf("%s is %s", path, version)
	}
	return path, version, nil
}

// parseMongodVersion finds the version, such as v8.2.1, in what mongod --version
// prints.
func parseMongodVersion(output string) (string, error) {
	match := mongodVersion.FindStringSubmatch(output)
	if match == nil || !semver.IsValid(match[1]) {
		return "", fmt.Errorf("no version in %.60q", output)
	}
	return match[1], nil
}

func startMongod(ctx context.Context, cfg Config, path, version string) (*Server, error) {
	l := launch{
		origin:     Mongod,
		replicaSet: mongodReplicaSet,
		command: func(dir, port string) (command, error) {
			data := filepath.Join(dir, "data")
			return command{path: path, args: mongodArgs(data, port)}, os.Mkdir(data, 0o700)
		},
		initiate: func(ctx context.Context, address string) error {
			return initiateReplicaSet(ctx, mongodReplicaSet, address)
		},
	}
	if cfg.Limitable {
		l.limitable(version)
	}
	return start(ctx, cfg, l)
}

func mongodArgs(data, port string) []string {
	return append([]string{"--dbpath", data, "--replSet", mongodReplicaSet}, serverArgs(port)...)
}

// serverArgs returns the arguments that mongod and mongos have in common.
func serverArgs(port string) []string {
	args := []string{
		"--bind_ip", "127.0.0.1",
		"--port", port,
		"--setParameter", "enableTestCommands=1",
	}
	if runtime.GOOS != "windows" {
		// The socket would be left in the system's temporary directory.
		args = append(args, "--nounixsocket")
	}
	return args
}

// initiateReplicaSet makes a replica set of the mongods at the addresses. The
// first is the only one that is asked, and the first to be primary.
func initiateReplicaSet(ctx context.Context, name string, addresses ...string) error {
	var members bson.A
	for i, address := range addresses {
		members = append(members, bson.D{{Key: "_id", Value: i}, {Key: "host", Value: address}})
	}
	config := bson.D{{Key: "_id", Value: name}, {Key: "members", Value: members}}
	if name == configReplicaSet {
		config = append(config, bson.E{Key: "configsvr", Value: true})
	}
	return runAdmin(ctx, addresses[0], bson.D{{Key: "replSetInitiate", Value: config}})
}

// runAdmin runs a command on the server at an address, as soon as it listens.
func runAdmin(ctx context.Context, address string, command bson.D) error {
	// Until it is a replica set there is no primary to select.
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
