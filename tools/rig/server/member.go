package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/tools/process"
	"mongofork/tools/rig/pypi"
)

// Member is one mongod, or another server. Its methods may be called from several goroutines.
type Member struct {
	deployment   *Deployment
	dir, address string

	mu  sync.Mutex // held while something happens to the process
	cmd *exec.Cmd  // nil unless it was started and not killed since
	end func()     // ends it
}

// String names the member in messages.
func (m *Member) String() string { return "member " + m.address }

// Address returns where the member listens, which is its name in the replica set.
func (m *Member) Address() string { return m.address }

// Kill ends the member, paused or not, like a crash of its machine, and returns when it has ended. Its data stays. Killing a member that
// does not run does nothing.
func (m *Member) Kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kill()
}

func (m *Member) kill() {
	if m.cmd != nil {
		m.end()
		m.cmd = nil
	}
}

// Restart starts the member with its data and port, and returns when it answers. If it runs, it is killed first. The process's files, the
// temporary ones and its output included, are in the member's folder. On Linux it ends even if this process is killed.
func (m *Member) Restart(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kill()
	log, err := os.OpenFile(m.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() // the process has its own copy
	wanted, kill := context.WithCancel(context.Background())
	o := m.deployment.options
	env := slices.Concat(os.Environ(), pypi.Isolated, []string{"TMPDIR=" + m.dir, "TMP=" + m.dir, "TEMP=" + m.dir})
	cmd := process.Command(wanted, m.dir, env, o.Binary, m.arguments()...)
	cmd.Cancel = func() error { return cmd.Process.Kill() }
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		kill()
		return fmt.Errorf("%v: start %s: %w", m, o.Binary, err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // how it ended is in its state
		if wanted.Err() == nil {
			m.deployment.fail(m.explain(fmt.Errorf("it exited (%v)", cmd.ProcessState)))
		}
		process.Reap(cmd)
	}()
	m.cmd, m.end = cmd, func() { kill(); <-ended }
	if _, err := m.deployment.runAdmin(ctx, direct(m.address), bson.D{{Key: "ping", Value: 1}}); err != nil {
		m.kill()
		return m.explain(fmt.Errorf("it does not answer: %w", err))
	}
	return nil
}

func (m *Member) log() string { return filepath.Join(m.dir, "log") }

// explain adds the member and the end of its output to an error.
func (m *Member) explain(err error) error {
	const length = 4 << 10
	text, readErr := os.ReadFile(m.log())
	text = text[max(0, len(text)-length):]
	return errors.Join(fmt.Errorf("%v: %w; the end of its log:\n%s", m, err, bytes.TrimSpace(text)), readErr)
}

// helloTimeout is for how long IsPrimary waits. A paused server accepts connections and answers nothing.
const helloTimeout = time.Second

// IsPrimary asks the member whether it is the primary; one that does not answer within a second is not.
func (m *Member) IsPrimary(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, helloTimeout)
	defer cancel()
	hello, err := m.deployment.runAdmin(ctx, direct(m.address), bson.D{{Key: "hello", Value: 1}})
	primary, _ := hello.Lookup("isWritablePrimary").BooleanOK()
	return err == nil && primary
}

// StepDown makes the primary a secondary that is not elected for some seconds.
func (m *Member) StepDown(ctx context.Context) error {
	const seconds = 3
	_, err := m.deployment.runAdmin(ctx, direct(m.address), bson.D{
		{Key: "replSetStepDown", Value: seconds}, {Key: "force", Value: true},
		{Key: "secondaryCatchUpPeriodSecs", Value: seconds - 1},
	})
	return err
}

// Pause stops the process, like an overloaded machine; its connections stay open.
func (m *Member) Pause() error { return m.signal(process.Pause) }

// Resume continues a paused process.
func (m *Member) Resume() error { return m.signal(process.Resume) }

func (m *Member) signal(signal os.Signal) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cmd == nil {
		return fmt.Errorf("%v: %w", m, os.ErrProcessDone)
	}
	return m.cmd.Process.Signal(signal)
}

// arguments returns the member's command line. The sizes keep several members on a small machine.
func (m *Member) arguments() []string {
	o := m.deployment.options
	if o.arguments != nil {
		return o.arguments(m.address)
	}
	args := append([]string{"--dbpath", filepath.Join(m.dir, "data"), "--wiredTigerCacheSizeGB", "0.25",
		// Nothing uses these figures, and writing them takes time and space.
		"--setParameter", "diagnosticDataCollectionEnabled=false"}, listen(m.address)...)
	if o.Members > 0 {
		args = append(args, "--replSet", o.ReplicaSet, "--oplogSize", "64")
	}
	if o.Users {
		args = append(args, "--keyFile", m.deployment.key())
	}
	return append(args, o.Arguments...)
}

// listen are the arguments of a mongod or mongos that listens on an address alone, with test commands.
func listen(address string) []string {
	args := []string{"--bind_ip", loopback, "--port", port(address), "--setParameter", "enableTestCommands=1"}
	if runtime.GOOS != "windows" {
		args = append(args, "--nounixsocket") // it would remain in the system's temporary directory
	}
	return args
}

func port(address string) string { return strings.TrimPrefix(address, loopback+":") }

const (
	loopback = "127.0.0.1"

	// firstPort and lastPort lie below the ephemeral ports. Otherwise an outgoing connection could take the port of a member that
	// is down; even a connection to that port can.
	firstPort = 20000
	lastPort  = 32000
)

// drawn are the addresses that this process was given, so that deployments that start side by side get different ones.
var drawn sync.Map

// freeAddress returns an address on which nobody listens right now.
func freeAddress() (string, error) {
	for range lastPort - firstPort {
		address := fmt.Sprintf("%s:%d", loopback, firstPort+rand.IntN(lastPort-firstPort))
		if _, taken := drawn.LoadOrStore(address, true); taken {
			continue
		}
		if listener, err := net.Listen("tcp", address); err == nil {
			return address, listener.Close()
		}
	}
	return "", fmt.Errorf("no free port from %d to %d on %s; end some of the programs that listen there", firstPort, lastPort, loopback)
}
