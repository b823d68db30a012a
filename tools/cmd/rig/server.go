package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"mongofork/tools/command"
	"mongofork/tools/rig/server"
	"mongofork/tools/rig/suite"
)

type serverCmd struct {
	Topology string   `placeholder:"TOPOLOGY" help:"Start a deployment of the mongod on the PATH, of any version, or of the pinned one: standalone, replicaset:N, or, with the mongos on the PATH, sharded:N."`
	Users    bool     `help:"Start it with a key file and a user; the URI has the credentials."`
	Limits   bool     `help:"Start the mongod on the PATH so that its limits can be switched on."`
	Command  []string `arg:"" optional:"" passthrough:"partial" placeholder:"COMMAND" help:"Command to run with MONGODB_URI set (after --). Without one, print the server's URI and run it until interrupted."`
}

// Run starts or finds a server, and finally stops it if it started it.
func (c *serverCmd) Run(ctx context.Context, rig *suite.Rig, stdout io.Writer) (err error) {
	cfg := server.Config{Root: rig.Root, Progress: os.Stderr, Topology: c.Topology, Users: c.Users, Limitable: c.Limits}
	if c.Users && c.Topology == "" {
		cfg.Topology = "replicaset:3"
	}
	s, err := server.Open(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if len(c.Command) > 0 {
		return command.PassThrough(ctx, []string{"MONGODB_URI=" + s.URI, "SERVER="}, c.Command) // it has been chosen
	}
	if _, err := fmt.Fprintln(stdout, s.URI); err != nil {
		return err
	}
	return s.Wait(ctx) // an interrupt is how it is stopped
}

type mongodCmd struct{}

// Run prints the path. Where there is none, that is an error in continuous integration only.
func (mongodCmd) Run(ctx context.Context, rig *suite.Rig, stdout io.Writer) error {
	path, err := server.MembersBinary(ctx, server.Config{Root: rig.Root, Progress: os.Stderr})
	if errors.Is(err, server.ErrUnavailable) && os.Getenv("CI") != "true" {
		fmt.Fprintln(os.Stderr, err)
		return nil
	}
	if err == nil {
		_, err = fmt.Fprintln(stdout, path)
	}
	return err
}
