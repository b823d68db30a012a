package mongod

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
)

// Member is one mongod. Its methods may be called from several goroutines.
type Member struct {
	deployment *Deployment
	number     int
	dir        string
	address    string
	host       string

	// changing is held while the process is started or ended.
	changing sync.Mutex
	mu       sync.Mutex
	process  *process // nil unless it was started and not killed since
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

// PID returns the process's id, or 0 if the member does not run.
func (m *Member) PID() int {
	if p := m.running(); p != nil {
		return p.cmd.Process.Pid
	}
	return 0
}

// Kill ends the member like a crash of its machine, and returns when it has ended. Its data stays. Killing a member that does not
// run is no error.
func (m *Member) Kill() error {
	m.changing.Lock()
	defer m.changing.Unlock()
	return m.kill()
}

func (m *Member) kill() error {
	p := m.running()
	if p == nil {
		return nil
	}
	if err := p.kill(); err != nil {
		return fmt.Errorf("kill %v: %w", m, err)
	}
	m.set(nil)
	return nil
}

// Restart starts the member with its data and port, and returns when it answers. If it runs, it is killed first.
func (m *Member) Restart(ctx context.Context) error {
	m.changing.Lock()
	defer m.changing.Unlock()
	if err := m.kill(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, m.deployment.options.StartTimeout)
	defer cancel()
	return m.start(ctx)
}

// Pause stops the process, like an overloaded machine; its connections stay open.
func (m *Member) Pause() error { return m.signal("pause", pauseProcess) }

// Resume continues a paused process.
func (m *Member) Resume() error { return m.signal("resume", resumeProcess) }

func (m *Member) signal(what string, signal func(*os.Process) error) error {
	p := m.running()
	if p == nil {
		return fmt.Errorf("%s %v: %w", what, m, os.ErrProcessDone)
	}
	if err := signal(p.cmd.Process); err != nil {
		return fmt.Errorf("%s %v: %w", what, m, err)
	}
	return nil
}

// launch starts the member for the first time.
func (m *Member) launch(ctx context.Context) error {
	m.changing.Lock()
	defer m.changing.Unlock()
	if err := os.Mkdir(m.data(), 0o700); err != nil {
		return err
	}
	return m.start(ctx)
}

// start starts the process and waits until it answers.
func (m *Member) start(ctx context.Context) error {
	p, err := startProcess(m.deployment.options.Binary, m.arguments(), m.dir)
	if err != nil {
		return fmt.Errorf("start %v: %w", m, err)
	}
	m.set(p)
	go func() {
		<-p.exited
		if !p.killed.Load() {
			m.deployment.fail(m.ended(p))
		}
	}()
	if err := m.awaitAnswer(ctx, p); err != nil {
		return errors.Join(err, m.kill())
	}
	return nil
}

// ended reports that a process ended without being killed, and why.
func (m *Member) ended(p *process) error {
	return fmt.Errorf("%v ended by itself (%v)%s; its log is %s", m, p.cmd.ProcessState, because(m.log()), m.log())
}

func (m *Member) running() *process {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.process
}

func (m *Member) set(p *process) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.process = p
}

func (m *Member) data() string { return filepath.Join(m.dir, "data") }

func (m *Member) log() string { return filepath.Join(m.dir, "log") }
