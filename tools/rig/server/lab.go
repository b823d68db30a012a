package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"mongofork/tools/rig/process"
)

// openLab builds a lab and starts it as the first of several topologies that is available here.
func openLab(ctx context.Context, cfg Config) (s *Server, err error) {
	build := process.Command(ctx, filepath.Join(cfg.Root, "lab"), append(os.Environ(), "GOWORK=off"), "go", "build", "-o", "../build/", "./cmd/lab")
	if output, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the lab: %w\n%s", err, output)
	}
	for _, topology := range strings.Split(cfg.Lab, ",") {
		cfg.Lab = topology
		if s, err = startLab(ctx, cfg); !errors.Is(err, ErrUnavailable) {
			break
		}
		fmt.Fprintln(cfg.Progress, err)
	}
	return s, err
}

// startLab starts a lab: before members that it starts itself, or else before a server. What it reports while it serves goes to
// Progress.
func startLab(ctx context.Context, cfg Config) (_ *Server, err error) {
	s := &Server{lab: cfg.Lab}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	args, env := []string{"serve", "--topology", cfg.Lab}, os.Environ()
	if strings.HasPrefix(cfg.Lab, "members") {
		mongod, err := MembersBinary(ctx, cfg)
		if err != nil {
			return nil, err
		}
		args = append(args, "--mongod", mongod, "--dir", cfg.folder())
	} else {
		backend, err := cfg.openFirst(ctx)
		if err != nil {
			return nil, err
		}
		s.parts, s.Version, s.Name = backend.parts, backend.Version, backend.Name
		// Every user of the machine can read the arguments of a process.
		env = append(env, "MONGODB_URI="+backend.URI)
	}
	// An interrupt leaves it to the caller to end the lab.
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	cmd := process.Command(serving, "", env, filepath.Join(cfg.Root, "build", "lab"), args...)
	cmd.Stderr = cfg.Progress
	output, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		stop()
		return nil, fmt.Errorf("start the lab: %w", err)
	}
	l := lab{cmd, stop, make(chan struct{})}
	s.parts = append(s.parts, l)
	s.Env = readEnv(output)
	go func() {
		_, _ = io.Copy(io.Discard, output) // a full pipe would stop it
		_ = cmd.Wait()
		close(l.exited)
	}()
	if s.URI = envValue(s.Env, "MONGODB_URI"); s.URI == "" {
		return nil, fmt.Errorf("the lab with the topology %s does not answer", cfg.Lab)
	}
	return s, nil
}

// lab is one that serves.
type lab struct {
	cmd    *exec.Cmd
	stop   context.CancelFunc
	exited chan struct{}
}

// Stop interrupts the lab, which ends the members that it started.
func (l lab) Stop() error {
	l.stop()
	<-l.exited
	process.Reap(l.cmd)
	return nil
}

func (l lab) Failed() <-chan struct{} { return l.exited }

func (l lab) Log() string { return "see what the lab wrote above" }

// readEnv reads the assignments that a lab writes before it serves: the connection strings, by the names that upstream's tests
// look for, and its address, which is the last. A load balancer has two connection strings: upstream's tests begin with the one
// of a single service.
func readEnv(output io.Reader) []string {
	var env []string
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		line := lines.Text()
		if strings.Contains(line, "=") {
			env = append(env, line)
		}
		if strings.HasPrefix(line, "LAB_URL=") {
			break
		}
	}
	if single := envValue(env, "SINGLE_MONGOS_LB_URI"); single != "" {
		env = append(env, "MONGODB_URI="+single)
	}
	return env
}

func envValue(env []string, name string) string {
	for _, assignment := range env {
		if value, ok := strings.CutPrefix(assignment, name+"="); ok {
			return value
		}
	}
	return ""
}
