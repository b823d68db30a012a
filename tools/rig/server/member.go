package server

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/tools/process"
)

// Member is one mongod, or another server. Its methods may be called from several goroutines.
type Member struct {
	deployment   *Deployment
	number       int
	dir, address string

	mu  sync.Mutex // held while something happens to the process
	cmd *exec.Cmd  // nil unless it was started and not killed since
	end func()     // ends it
}

// String names the member in messages.
func (m *Member) String() string {
	return fmt.Sprintf("member %d of %d (%s)", m.number+1, len(m.deployment.members), m.address)
}

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

// Restart starts the member with its data and port, and returns when it answers. If it runs, it is killed first.
func (m *Member) Restart(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kill()
	if err := m.start(); err != nil {
		return fmt.Errorf("%v: %w", m, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(m.deployment.running, cancel)()
	err := runAdmin(ctx, direct(m.address), bson.D{{Key: "ping", Value: 1}}, nil)
	if err != nil {
		err = fmt.Errorf("%v does not answer: %w; the end of its log:\n%s", m, err, m.tail())
		m.kill()
	}
	return err
}

// start starts the process, whose files, the temporary ones and its output included, are in the member's folder. On Linux it ends even if
// this process is killed.
func (m *Member) start() error {
	log, err := os.OpenFile(m.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() // the process has its own copy
	wanted, kill := context.WithCancel(context.Background())
	o := m.deployment.options
	env := slices.Concat(os.Environ(), []string{"TMPDIR=" + m.dir, "TMP=" + m.dir, "TEMP=" + m.dir}, o.env)
	cmd := process.Command(wanted, m.dir, env, o.Binary, m.arguments()...)
	cmd.Cancel = func() error { return cmd.Process.Kill() }
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		kill()
		return fmt.Errorf("start %s: %w", o.Binary, err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // how it ended is in its state
		if wanted.Err() == nil {
			m.deployment.fail(fmt.Errorf("%v: it exited (%v); the end of its log:\n%s", m, cmd.ProcessState, m.tail()))
		}
		process.Reap(cmd)
	}()
	m.cmd, m.end = cmd, func() { kill(); <-ended }
	return nil
}

func (m *Member) log() string { return filepath.Join(m.dir, "log") }

// tail returns the end of the process's output.
func (m *Member) tail() string {
	const length = 4 << 10
	text, err := os.ReadFile(m.log())
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text[max(0, len(text)-length):]))
}

// helloTimeout is for how long IsPrimary waits. A paused server accepts connections and answers nothing.
const helloTimeout = time.Second

// IsPrimary asks the member whether it is the primary; one that does not answer within a second is not.
func (m *Member) IsPrimary(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, helloTimeout)
	defer cancel()
	var hello struct {
		Primary bool `bson:"isWritablePrimary"`
	}
	return runAdmin(ctx, direct(m.address), bson.D{{Key: "hello", Value: 1}}, &hello) == nil && hello.Primary
}

// StepDown makes the primary a secondary that is not elected for some seconds.
func (m *Member) StepDown(ctx context.Context) error {
	const seconds = 3
	return runAdmin(ctx, direct(m.address), bson.D{
		{Key: "replSetStepDown", Value: seconds}, {Key: "force", Value: true},
		{Key: "secondaryCatchUpPeriodSecs", Value: seconds - 1},
	}, nil)
}

// Pause stops the process, like an overloaded machine; its connections stay open.
func (m *Member) Pause() error { return m.signal("pause", process.Pause) }

// Resume continues a paused process.
func (m *Member) Resume() error { return m.signal("resume", process.Resume) }

func (m *Member) signal(what string, signal func(*os.Process) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	err := os.ErrProcessDone
	if m.cmd != nil {
		err = signal(m.cmd.Process)
	}
	if err != nil {
		return fmt.Errorf("%s %v: %w", what, m, err)
	}
	return nil
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
	switch {
	case o.Users && o.Members > 0:
		args = append(args, "--keyFile", m.deployment.key())
	case o.Users:
		args = append(args, "--auth")
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

	portAttempts = 1000
)

// drawn are the ports that this process was given, so that deployments that start side by side get different ones.
var drawn sync.Map

// freeAddresses returns addresses on which nobody listens right now.
func freeAddresses(count int) ([]string, error) {
	var addresses []string
	for range portAttempts {
		if len(addresses) == count {
			return addresses, nil
		}
		port := firstPort + rand.IntN(lastPort-firstPort)
		if _, taken := drawn.LoadOrStore(port, true); taken {
			continue
		}
		listener, err := net.Listen("tcp", net.JoinHostPort(loopback, strconv.Itoa(port)))
		if err != nil {
			continue // in use
		}
		defer listener.Close()
		addresses = append(addresses, listener.Addr().String())
	}
	return nil, fmt.Errorf("no %d free ports from %d to %d on %s; end some of the programs that listen there",
		count, firstPort, lastPort, loopback)
}
