// Lab stands between clients and the members of a replica set, or one server, and disturbs them on demand.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"golang.org/x/sync/errgroup"

	"mongofork/lab/internal/fronts"
	"mongofork/lab/internal/overload"
	"mongofork/lab/internal/soak"
	"mongofork/lab/internal/topology"
	"mongofork/tools/command"
)

type serveCmd struct {
	Topology string   `default:"replicaset:3" help:"What clients see: a replicaset:N of real members, or standalone, sharded:N or loadbalanced:N of one server."`
	Backend  string   `env:"MONGODB_URI" placeholder:"URI" help:"Connection string of the server, with one host."`
	Mongod   string   `type:"existingfile" placeholder:"FILE" help:"The mongod of real members."`
	Dir      string   `type:"existingdir" default:"." placeholder:"DIR" help:"Folder for the started members' files, which are removed at the end."`
	Rate     int32    `placeholder:"N" help:"Requests per second that each front admits; it rejects the others. Without it, all are admitted."`
	Command  []string `arg:"" optional:"" passthrough:"partial" placeholder:"COMMAND" help:"Command to run with the lab's connection string in MONGODB_URI (after --). Without one, print it and serve until interrupted."`
}

// run serves until the context or the command ends.
func (c *serveCmd) run(ctx context.Context, stdout, stderr io.Writer) (err error) {
	config := fronts.Config{Logger: slog.New(slog.NewTextHandler(stderr, nil))}
	if err := c.behind(ctx, &config); err != nil {
		return err
	}
	if config.Members != nil {
		defer func() { err = errors.Join(err, config.Members.Stop()) }()
	}
	l, err := fronts.Open(config)
	if err != nil {
		return err
	}
	if c.Rate > 0 {
		limit := overload.Limit{Enabled: true, RatePerSec: c.Rate, BurstCapacitySecs: 1}
		l.Limit(limit, overload.Unlimited())
	}
	uris := l.URIs()
	found := []string{"MONGODB_URI=" + uris[0]}
	if config.Topology.Kind == topology.LoadBalanced { // where upstream's tests look for them
		found = append(found, "SINGLE_MONGOS_LB_URI="+uris[0], "MULTI_MONGOS_LB_URI="+uris[1])
	}
	if len(c.Command) == 0 {
		fmt.Fprintln(stdout, strings.Join(found, "\n"))
		fmt.Fprintf(stderr, "each front has its own limit: setParameter through this URI limits one of them; limit each through "+
			"mongodb://HOST/?directConnection=true, or all with --rate\n")
		return l.Run(ctx)
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	var served errgroup.Group
	served.Go(func() error { return l.Run(serving) })
	err = command.PassThrough(ctx, found, c.Command)
	stop()
	return errors.Join(err, served.Wait())
}

// behind finds the server or starts the members behind the lab.
func (c *serveCmd) behind(ctx context.Context, config *fronts.Config) (err error) {
	if config.Topology, err = topology.ParseSpec(c.Topology); err != nil {
		return err
	}
	switch set := config.Topology.Kind == topology.ReplicaSet; {
	case set && c.Mongod != "":
		config.Members, err = fronts.StartMembers(ctx, c.Mongod, c.Dir, config.Topology.Members)
	case !set && c.Mongod == "":
		config.Backend, err = backend(c.Backend)
	default:
		err = errors.New("give --mongod=FILE for a replica set, and --backend=URI alone for another --topology")
	}
	return err
}

// backend returns the address in a connection string of exactly one host, at which something listens. Options and credentials concern
// clients, which talk to the server themselves.
func backend(uri string) (string, error) {
	opts := options.Client().ApplyURI(uri)
	if err := opts.Validate(); err != nil {
		return "", fmt.Errorf("the backend's URI: %w", err)
	}
	if len(opts.Hosts) != 1 || opts.TLSConfig != nil {
		return "", errors.New("the backend's URI has to name one host, which is reached without TLS")
	}
	host := address.Address(opts.Hosts[0]).String()
	conn, err := net.DialTimeout("tcp", host, 5*time.Second)
	if err != nil {
		return "", fmt.Errorf("the backend does not answer; start it, or name another: %w", err)
	}
	return host, conn.Close()
}

const description = `Stands between clients and the members of a replica set, or one server, and disturbs them on demand: it kills members,
breaks connections and rejects commands.

Exit codes: 0 done, 1 the lab or the server failed, 2 wrong usage.`

type cli struct {
	Serve           serveCmd         `cmd:"" help:"Serve a deployment, for one command or until interrupted."`
	Soak            soak.Soak        `cmd:"" help:"Disturb three real members while applications work, and check that nothing is lost."`
	SoakApplication soak.Application `cmd:"" hidden:"" help:"Run one application of a soak."`
}

func main() { command.Main(run) }

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var c cli
	return command.Program{Name: "lab", Description: description, CLI: &c, Do: func(parsed *kong.Context) error {
		switch parsed.Command() {
		case "soak":
			return c.Soak.Run(ctx, stdout, stderr)
		case "soak-application":
			return c.SoakApplication.Run(ctx, stdout)
		default:
			return c.Serve.run(ctx, stdout, stderr)
		}
	}}.Run(args, stdout, stderr)
}
