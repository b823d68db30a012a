package labrun

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"mongofork/tools/redact"
	"mongofork/tools/rig/process"
)

// ready is the last line that the lab writes before it serves.
const ready = "LAB_URL="

// Lab is a lab that serves.
type Lab struct {
	// Env holds what the lab said, as NAME=VALUE: the connection strings, by the names that upstream's tests look for, and
	// the address of its metrics.
	Env []string

	cmd    *exec.Cmd
	cancel context.CancelFunc
	ended  chan error
}

// Serve starts a lab of that topology in front of a server and returns when it serves. Every user of the machine can read the
// arguments of a process, so that the server's connection string goes into its environment.
func Serve(ctx context.Context, binary string, env []string, topology, backend string) (*Lab, error) {
	return serve(ctx, binary, append(slices.Clone(env), "MONGODB_URI="+backend), topology)
}

// ServeMembers starts three real members of a mongod, with their files below a folder, and a lab before them.
func ServeMembers(ctx context.Context, binary string, env []string, mongod, dir string) (*Lab, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return serve(ctx, binary, env, "members:3", "--mongod", mongod, "--dir", dir)
}

func serve(ctx context.Context, binary string, env []string, topology string, args ...string) (*Lab, error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd := process.Command(ctx, "", env, binary, append([]string{"serve", "--topology", topology}, args...)...)
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	if err != nil {
		cancel()
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		cancel()
		return nil, fmt.Errorf("start the lab: %w", err)
	}
	l := &Lab{cmd: cmd, cancel: cancel, ended: make(chan error, 1)}
	said, scanErr := readEnv(out)
	go func() {
		_, _ = io.Copy(io.Discard, out) // a full pipe would stop it
		l.ended <- cmd.Wait()
	}()
	if scanErr != nil {
		cancel()
		<-l.ended // how it ended does not matter any more
		return nil, fmt.Errorf("the lab of topology %s did not serve: %w\n%s", topology, scanErr,
			redact.URIs(strings.TrimSpace(log.String())))
	}
	l.Env = withURI(said)
	return l, nil
}

// readEnv reads what the lab says until it serves.
func readEnv(out io.Reader) ([]string, error) {
	var said []string
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		line := lines.Text()
		if strings.Contains(line, "=") {
			said = append(said, line)
		}
		if strings.HasPrefix(line, ready) {
			return said, nil
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	return nil, errors.New("it ended before it said where it is")
}

// withURI adds MONGODB_URI where the lab is a load balancer, which has two connection strings: upstream's tests begin
// with the one of a single service.
func withURI(said []string) []string {
	for _, assignment := range said {
		if value, ok := strings.CutPrefix(assignment, "SINGLE_MONGOS_LB_URI="); ok {
			return append(said, "MONGODB_URI="+value)
		}
	}
	return said
}

// Close ends the lab.
func (l *Lab) Close() error {
	l.cancel()
	<-l.ended // how it ended does not matter any more
	process.Reap(l.cmd)
	return nil
}
