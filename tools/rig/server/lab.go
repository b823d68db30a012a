package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"mongofork/tools/rig/process"
)

// openLab builds a lab and starts it: before members that it starts itself, or else before a server.
func openLab(ctx context.Context, cfg Config) (*Server, error) {
	s := &Server{lab: cfg.Lab}
	if err := s.startLab(ctx, cfg); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Server) startLab(ctx context.Context, cfg Config) error {
	binary, err := filepath.Abs(filepath.Join(cfg.Root, "build", "lab"))
	if err != nil {
		return err
	}
	build := process.Command(ctx, filepath.Join(cfg.Root, "lab"), append(os.Environ(), "GOWORK=off"),
		"go", "build", "-o", binary, "./cmd/lab")
	if output, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the lab: %w\n%s", err, output)
	}
	args, env := []string{"serve", "--topology", cfg.Lab}, []string(nil)
	if strings.HasPrefix(cfg.Lab, "members") {
		mongod, err := MembersBinary(ctx, cfg)
		if err != nil {
			return err
		}
		args = append(args, "--mongod", mongod)
	} else {
		backend, err := cfg.openFirst(ctx)
		if err != nil {
			return err
		}
		s.parts, s.Version, s.Name = backend.parts, backend.Version, backend.Name
		// Every user of the machine can read the arguments of a process.
		env = []string{"MONGODB_URI=" + backend.URI}
	}
	lab, err := openChild(cfg, binary, args, env...)
	if err != nil {
		return err
	}
	lab.gentle = true // it ends the members that it started, and removes their files
	s.parts = append(s.parts, lab)
	err = poll(ctx, lab.Failed(), func() error {
		output, err := os.ReadFile(lab.log)
		if s.Env = readEnv(string(output)); err == nil && s.Env == nil {
			err = errors.New("it does not answer")
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("the lab with the topology %s: %w\n%s", cfg.Lab, err, s.Log())
	}
	s.URI = envValue(s.Env, "MONGODB_URI")
	return nil
}

var assignment = regexp.MustCompile(`(?m)^[A-Z_]+=.*$`)

// readEnv reads the assignments that a lab writes before it serves: the connection strings, by the names that upstream's tests look
// for, and its topology, which is the last; nil if it is not there yet. A load balancer has two connection strings: upstream's tests
// begin with the one of a single service.
func readEnv(output string) []string {
	env := assignment.FindAllString(output, -1)
	if envValue(env, "LAB_TOPOLOGY") == "" {
		return nil
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
