package server

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"mongofork/tools/rig/process"
)

// Member is one mongod. Its methods may be called from several goroutines.
type Member struct {
	deployment         *Deployment
	number             int
	dir, address, host string

	changing sync.Mutex // held while the process is started or ended
	mu       sync.Mutex
	child    *child // nil unless it was started and not killed since
}

// String names the member in messages.
func (m *Member) String() string {
	return fmt.Sprintf("member %d of %d (%s)", m.number+1, len(m.deployment.members), m.address)
}

// Address returns where the member listens, regardless of its name in the replica set.
func (m *Member) Address() string { return m.address }

// Host returns the member's name in the replica set's configuration.
func (m *Member) Host() string { return m.host }

// URI connects to this member only, in any state.
func (m *Member) URI() string {
	return m.deployment.uri(m.address, url.Values{"directConnection": {"true"}})
}

// direct are the options of a client of this member alone, without credentials, which hello needs none of.
func (m *Member) direct() *options.ClientOptions {
	opts := options.Client().ApplyURI(m.URI())
	opts.Auth = nil
	return opts
}

func (m *Member) running() *child {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.child
}

func (m *Member) set(c *child) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.child = c
}

// Kill ends the member like a crash of its machine, and returns when it has ended. Its data stays. Killing a member that does not
// run does nothing.
func (m *Member) Kill() {
	m.changing.Lock()
	defer m.changing.Unlock()
	m.kill()
}

func (m *Member) kill() {
	if c := m.running(); c != nil {
		_ = c.Stop()
		m.set(nil)
	}
}

// Restart starts the member with its data and port, and returns when it answers. If it runs, it is killed first.
func (m *Member) Restart(ctx context.Context) error {
	m.changing.Lock()
	defer m.changing.Unlock()
	m.kill()
	c, err := startChild(m.dir, nil, m.deployment.options.Binary, m.arguments()...)
	if err != nil {
		return fmt.Errorf("%v: %w", m, err)
	}
	m.set(c)
	go func() {
		<-c.exited
		if !c.killed.Load() {
			m.deployment.fail(fmt.Errorf("%v: %w", m, c.ended()))
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	err = awaitListener(ctx, m.address, c.exited)
	if err == nil {
		err = m.awaitRole(ctx, func(hello) bool { return true })
	}
	if err != nil {
		err = fmt.Errorf("%v does not answer: %w; the end of its log:\n%s", m, err, c.Log())
		m.kill()
	}
	return err
}

// Role asks the member whether it is primary, or a secondary; one that does not answer within a second is neither.
func (m *Member) Role(ctx context.Context) (primary, secondary bool) {
	_ = withClient(ctx, m.direct(), func(client *mongo.Client) error {
		role, err := askHello(ctx, client)
		primary, secondary = role.Primary, role.Secondary
		return err
	})
	return primary, secondary
}

// awaitRole asks the member for its role until the role is accepted.
func (m *Member) awaitRole(ctx context.Context, accept func(hello) bool) error {
	return withClient(ctx, m.direct(), func(client *mongo.Client) error {
		return poll(ctx, nil, func() error {
			role, err := askHello(ctx, client)
			if err == nil && !accept(role) {
				err = fmt.Errorf("%v is neither primary nor secondary", m)
			}
			return err
		})
	})
}

// Pause stops the process, like an overloaded machine; its connections stay open.
func (m *Member) Pause() error { return m.signal("pause", process.Pause) }

// Resume continues a paused process.
func (m *Member) Resume() error { return m.signal("resume", process.Resume) }

func (m *Member) signal(what string, signal func(*os.Process) error) error {
	err := os.ErrProcessDone
	if c := m.running(); c != nil {
		err = signal(c.cmd.Process)
	}
	if err != nil {
		return fmt.Errorf("%s %v: %w", what, m, err)
	}
	return nil
}

// arguments returns the member's command line. The sizes keep several members on a small machine.
func (m *Member) arguments() []string {
	o, certificate := m.deployment.options, m.deployment.certificate()
	args := append([]string{"--dbpath", filepath.Join(m.dir, "data"), "--wiredTigerCacheSizeGB", "0.25",
		// Nothing uses these figures, and writing them takes time and space.
		"--setParameter", "diagnosticDataCollectionEnabled=false"}, listen(m.address)...)
	if o.Form.kind == replicaSet {
		args = append(args, "--replSet", o.ReplicaSet, "--oplogSize", "64")
	}
	if o.Form.TLS {
		args = append(args, "--tlsMode", "requireTLS", "--tlsCertificateKeyFile", certificate, "--tlsCAFile", certificate,
			"--tlsAllowConnectionsWithoutCertificates")
	}
	switch {
	case o.Form.Users && o.Form.kind == replicaSet:
		args = append(args, "--keyFile", m.deployment.key())
	case o.Form.Users:
		args = append(args, "--auth")
	}
	return append(args, o.Arguments...)
}

// listen are the arguments of a mongod or mongos that listens on an address alone, with test commands.
func listen(address string) []string {
	args := []string{"--bind_ip", loopback, "--port", address[strings.LastIndex(address, ":")+1:], "--setParameter",
		"enableTestCommands=1"}
	if runtime.GOOS != "windows" {
		args = append(args, "--nounixsocket") // it would remain in the system's temporary directory
	}
	return args
}
