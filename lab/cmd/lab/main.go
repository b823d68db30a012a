// Lab puts itself before the members of a replica set, or before one server, and gives them a bad day.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/alecthomas/kong"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/lab/internal/fronts"
	"mongofork/lab/internal/topology"
	"mongofork/tools/command"
)

type serveCmd struct {
	Topology string `help:"What clients see: members:N, a real replica set, by default of three if there is a mongod; or standalone, the default before a server, sharded:N or loadbalanced:N, made of it."`
	Backend  string `env:"MONGODB_URI" placeholder:"URI" help:"Connection string of the server, with one host; for all topologies but members:N."`
	Mongod   string `type:"existingfile" placeholder:"FILE" help:"Start the members of the topology members:N with this mongod."`
	Dir      string `type:"existingdir" default:"." placeholder:"DIR" help:"Folder for the started members' files, which are removed at the end."`
}

// Run serves until the context ends.
func (c *serveCmd) Run(env *environment) (err error) {
	if c.Topology == "" {
		c.Topology = string(topology.Standalone)
		if c.Mongod != "" {
			c.Topology = string(topology.Members)
		}
	}
	spec, err := topology.ParseSpec(c.Topology)
	if err != nil {
		return err
	}
	config := fronts.Config{Topology: spec, Logger: slog.New(slog.NewTextHandler(env.stderr, nil))}
	if err := c.behind(env.ctx, &config); err != nil {
		return err
	}
	if config.Members != nil {
		defer func() { err = errors.Join(err, config.Members.Stop()) }()
	}
	l, err := fronts.Open(config)
	if err != nil {
		return err
	}
	for _, endpoint := range l.Endpoints() {
		fmt.Fprintf(env.stdout, "%s=%s\n", endpoint.Name, endpoint.URI)
	}
	fmt.Fprintf(env.stdout, "LAB_TOPOLOGY=%v\n", spec) // the last line: all fronts listen
	return l.Run(env.ctx)
}

// behind finds or starts the server or members behind the lab.
func (c *serveCmd) behind(ctx context.Context, config *fronts.Config) (err error) {
	real := config.Topology.Kind == topology.Members
	switch {
	case c.Mongod != "" && !real:
		return fmt.Errorf("--mongod starts members: give --topology %s:3", topology.Members)
	case c.Mongod != "":
		config.Members, err = fronts.StartMembers(ctx, c.Mongod, c.Dir, config.Topology.Members)
	case real || c.Backend == "":
		return errors.New("missing flags: --backend=URI, or --mongod=FILE for the topology members:N")
	default:
		config.Backend, err = backend(c.Backend)
	}
	return err
}

// backend returns the address in a connection string of exactly one host. Options and credentials concern clients, which talk to the
// server themselves.
func backend(uri string) (string, error) {
	opts := options.Client().ApplyURI(uri)
	if err := opts.Validate(); err != nil {
		return "", fmt.Errorf("the backend's URI: %w", err)
	}
	if len(opts.Hosts) != 1 || opts.TLSConfig != nil {
		return "", errors.New("the backend's URI has to name one host, which is reached without TLS")
	}
	return address.Address(opts.Hosts[0]).String(), nil
}

const description = `Puts itself before the members of a replica set, or before one server, of which everything can
be made to fail: members, connections, overload.

Exit codes: 0 done, 1 the lab or the server failed, 2 wrong usage.`

// cli is the command line. Each command is a struct with a Run method.
type cli struct {
	Serve serveCmd `cmd:"" help:"Serve a deployment until interrupted."`
	Soak  soakCmd  `cmd:"" help:"Disturb applications on three real members, and check that nothing is lost."`

	SoakArm soakArmCmd `cmd:"" hidden:"" help:"Run one application of a soak."`
}

// environment is the commands' environment.
type environment struct {
	ctx            context.Context
	stdout, stderr io.Writer
}

func main() { command.Main(run) }

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var c cli
	return command.Program{Name: "lab", Description: description, CLI: &c, Do: func(parsed *kong.Context) error {
		return parsed.Run(&environment{ctx: ctx, stdout: stdout, stderr: stderr})
	}}.Run(args, stdout, stderr)
}
