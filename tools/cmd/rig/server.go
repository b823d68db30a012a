package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	commands "mongofork/tools/command"
	"mongofork/tools/rig/server"
	"mongofork/tools/rig/suite"
)

// commandGrace is the time between the interrupt and the kill of a command.
const commandGrace = 10 * time.Second

type serverCmd struct {
	Topology string   `placeholder:"TOPOLOGY" help:"Start a deployment of the mongod on the PATH, of any version, or of the pinned one: standalone, replicaset:N, or, with the mongos on the PATH, sharded:N."`
	Users    bool     `help:"Start it with a key file and a user; the URI has the credentials."`
	Limits   bool     `help:"Start the mongod on the PATH so that its limits can be switched on."`
	Lab      string   `placeholder:"TOPOLOGY" help:"Start the overload lab, before members:N (real ones), or before one server, which then looks like standalone, sharded:N or loadbalanced:N."`
	Command  []string `arg:"" optional:"" passthrough:"" placeholder:"COMMAND" help:"Command to run with MONGODB_URI set (after --). Without one, print the server's URI and run it until interrupted."`
}

// Run starts or finds a server, and finally stops it if it started it.
func (c *serverCmd) Run(ctx context.Context, rig *suite.Rig, stdout io.Writer) (err error) {
	cfg := server.Config{
		Root: rig.Root, Progress: os.Stderr, Topology: c.Topology, Users: c.Users, Lab: c.Lab, Limitable: c.Limits,
	}
	if c.Users && c.Topology == "" {
		cfg.Topology = "replicaset:3"
	}
	s, err := server.Open(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if len(c.Command) > 0 && c.Command[0] == "--" {
		c.Command = c.Command[1:]
	}
	if len(c.Command) > 0 {
		env := []string{"MONGODB_URI=" + s.URI, "SERVER="} // it has been chosen
		if c.Lab != "" {
			env = append(s.Env, env...)
		}
		return passThrough(ctx, env, c.Command)
	}
	said := s.URI
	if c.Lab != "" {
		said = strings.Join(s.Env, "\n")
	}
	if _, err := fmt.Fprintln(stdout, said); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil // that is how it is stopped
	case <-s.Failed():
		return fmt.Errorf("the server exited; the end of its log:\n%s", s.Log())
	}
}

// passThrough runs a command with our input and output, and with env added to our environment. The error of a failed command has
// its exit code.
func passThrough(ctx context.Context, env, command []string) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	// Interrupt it as we were, and give it time: it may have children to stop.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = commandGrace
	cmd.Env = append(append(os.Environ(), env...), commands.EndWith+"="+strconv.Itoa(os.Getpid()))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if err == nil || cmd.ProcessState != nil && cmd.ProcessState.Success() {
		return nil // it ended as it was asked to, although Run returns an error
	}
	return fmt.Errorf("%s: %w", command[0], err)
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
