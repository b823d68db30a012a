package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"mongofork/tools/drivermod"
	"mongofork/tools/rig/process"
	"mongofork/tools/rig/server"
)

// commandGrace is the time between the interrupt and the kill of a command.
const commandGrace = 10 * time.Second

type serverCmd struct {
	Topology string   `placeholder:"TOPOLOGY" help:"Start a deployment of the mongod on the PATH, of any version, or of the pinned one: standalone, replicaset:N, or, with the mongos on the PATH, sharded:N."`
	TLS      bool     `name:"tls" help:"Start it with TLS; the URI names the certificate files."`
	Users    bool     `help:"Start it with a key file and a user; the URI has the credentials."`
	Limits   bool     `help:"Start the mongod on the PATH so that its limits can be switched on."`
	Lab      string   `placeholder:"TOPOLOGY" help:"Start the overload lab, which looks like members:N (real ones), or like a standalone, replicaset:N, sharded:N or loadbalanced:N that it makes of one server."`
	Command  []string `arg:"" optional:"" passthrough:"" placeholder:"COMMAND" help:"Command to run with MONGODB_URI set (after --). Without one, print the server's URI and run it until interrupted."`
}

// Run starts or finds a server, and finally stops it if it started it.
func (c *serverCmd) Run(ctx context.Context, r *repository, stdout io.Writer) (err error) {
	cfg := server.Config{Root: r.root, Progress: os.Stderr, Lab: c.Lab, Limitable: c.Limits}
	if c.Topology != "" || c.TLS || c.Users {
		if cfg.Form, err = server.ParseForm(cmp.Or(c.Topology, "replicaset:3")); err != nil {
			return err
		}
		cfg.Form.TLS, cfg.Form.Users = c.TLS, c.Users
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
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if err == nil || cmd.ProcessState != nil && cmd.ProcessState.Success() {
		return nil // it ended as it was asked to, although Run returns an error
	}
	return fmt.Errorf("%s: %w", command[0], err)
}

type soakCmd struct {
	ForkOnly bool     `help:"Run only with the fork of this base, not with the other forks and the untouched drivers."`
	Flags    []string `arg:"" optional:"" passthrough:"" help:"Flags of \"lab soak\" (after --), such as --seed, --seeds and --duration."`
}

// Run builds the lab with each driver, all of which are below build, and runs the soak. The forks decide on the exit code; the untouched drivers are there for
// comparison.
func (c *soakCmd) Run(ctx context.Context, r *repository) error {
	mongod, err := server.MembersBinary(ctx, server.Config{Root: r.root, Progress: os.Stderr})
	if errors.Is(err, server.ErrUnavailable) && os.Getenv("CI") != "true" {
		fmt.Fprintln(os.Stderr, "soak not run:", err)
		return nil
	}
	if err != nil {
		return err
	}
	bases := r.bases
	if c.ForkOnly {
		bases = []string{r.base}
	}
	var conductor string
	args := []string{"--mongod", mongod, "--dir", filepath.Join(r.root, "build", "server")}
	for _, base := range bases {
		forked, err := buildLab(ctx, r.root, base)
		if err != nil {
			return err
		}
		args = append(args, "--fork", "fork of "+base+"="+forked)
		if base == r.base {
			conductor = forked
		}
		if c.ForkOnly {
			break
		}
		untouched, err := buildLab(ctx, r.root, filepath.Join("pristine", base))
		if err != nil {
			return err
		}
		args = append(args, "--other", base+"="+untouched)
	}
	flags := c.Flags
	if len(flags) > 0 && flags[0] == "--" {
		flags = flags[1:]
	}
	return passThrough(ctx, nil, append(append([]string{conductor, "soak"}, flags...), args...))
}

// buildLab builds the lab with the driver in a folder below build, such as v2.5.0, and returns the binary's path.
func buildLab(ctx context.Context, root, driver string) (string, error) {
	lab, out := filepath.Join(root, "lab"), filepath.Join(root, "build", "labs", driver)
	if err := os.MkdirAll(out, 0o755); err != nil {
		return "", err
	}
	modfile, err := drivermod.Replace(lab, filepath.Join(root, "build", driver), out)
	if err != nil {
		return "", err
	}
	binary := filepath.Join(out, "lab.exe") // the suffix matters on Windows only
	env := append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	cmd := process.Command(ctx, lab, env, "go", "build", "-mod=mod", "-modfile", modfile, "-o", binary, "./cmd/lab")
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the lab with %s: %w\n%s", driver, err, output)
	}
	return binary, nil
}
