package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"mongofork/tools/fork"
	"mongofork/tools/rig/server"
)

// commandGrace is the time between the interrupt and the kill of a command.
const commandGrace = 10 * time.Second

type serverCmd struct {
	Topology string   `placeholder:"TOPOLOGY" help:"Start a deployment of the mongod on the PATH, of any version, or of the pinned one: standalone, replicaset:N, or, with the mongos on the PATH, sharded:N."`
	TLS      bool     `name:"tls" help:"Start it with TLS; the URI names the certificate files."`
	Users    bool     `help:"Start it with a key file and a user; the URI has the credentials."`
	ForLab   bool     `help:"Find or start a server for the lab: one member, no users."`
	Port     []int    `placeholder:"PORT" help:"The members' ports, one for each. Default: free ones."`
	Command  []string `arg:"" optional:"" passthrough:"" placeholder:"COMMAND" help:"Command to run with MONGODB_URI set (after --). Without one, print the server's URI and run it until interrupted."`
}

// defaultTopology is started if TLS, users or ports are requested without a topology.
const defaultTopology = "replicaset:3"

// Run starts or finds a server, and finally stops it if it started it.
func (c *serverCmd) Run(ctx context.Context) (err error) {
	root, err := fork.FindRoot(".")
	if err != nil {
		return err
	}
	s, err := c.open(ctx, server.Config{Root: root, Progress: os.Stderr})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()

	command := c.Command
	if len(command) > 0 && command[0] == "--" {
		command = command[1:]
	}
	if len(command) == 0 {
		return serve(ctx, s, os.Stdout)
	}
	return runWith(ctx, s.URI, command)
}

// open starts the requested deployment, or else finds or starts any server.
func (c *serverCmd) open(ctx context.Context, cfg server.Config) (*server.Server, error) {
	cfg.Ports, cfg.BehindLab = c.Port, c.ForLab
	if c.Topology == "" && !c.TLS && !c.Users && len(c.Port) == 0 {
		return server.Open(ctx, cfg)
	}
	topology, err := server.ParseTopology(cmp.Or(c.Topology, defaultTopology))
	if err != nil {
		return nil, err
	}
	return server.OpenForm(ctx, cfg, server.Form{Topology: topology, TLS: c.TLS, Users: c.Users})
}

// serve prints the server's URI and waits until it is interrupted or the server
// ends.
func serve(ctx context.Context, s *server.Server, out io.Writer) error {
	if _, err := fmt.Fprintln(out, s.URI); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil // that is how it is stopped
	case <-s.Done():
		return fmt.Errorf("the server ended by itself; the end of its log:\n%s", s.Log())
	}
}

// runWith runs a command that finds the server in MONGODB_URI.
func runWith(ctx context.Context, uri string, command []string) error {
	// The server has been chosen.
	return passThrough(ctx, "", []string{"MONGODB_URI=" + uri, "SERVER="}, command)
}

// passThrough runs a command in a folder with our input and output, and with env added to our environment. The error of a failed
// command has its exit code.
func passThrough(ctx context.Context, dir string, env, command []string) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = dir
	// Interrupt it as we were, and give it time: it may have children to stop.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = commandGrace
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if err == nil || cmd.ProcessState != nil && cmd.ProcessState.Success() {
		return nil // it ended as it was asked to, although Run returns an error
	}
	return fmt.Errorf("%s: %w", command[0], err)
}
