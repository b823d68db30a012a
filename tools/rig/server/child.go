package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

const (
	// stopGrace is more than twice the time that SecantusDB takes to stop (4 s).
	stopGrace = 10 * time.Second

	logTailLines = 20
	logTailBytes = 16 << 10
)

// command describes a child's program.
type command struct {
	path string
	args []string
	// env is added to this process's environment.
	env []string
}

// child is a child process with all its files in one private directory. On Linux it gets a SIGTERM if this process dies without
// closing it; elsewhere it then keeps running.
type child struct {
	cmd   *exec.Cmd
	dir   string
	grace time.Duration

	exited chan struct{}
	// err may be read once exited is closed.
	err error
}

// startChild starts a command in dir, which then belongs to the child, with its output in dir/log.
func startChild(dir string, what command) (*child, error) {
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close() // the child has its own copy

	cmd := exec.Command(what.path, what.args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), what.env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = ownGroup()

	c := &child{cmd: cmd, dir: dir, grace: stopGrace, exited: make(chan struct{})}
	started := make(chan error)
	go c.run(started)
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

// run starts the process and waits for it on one thread: Linux sends the parent-death signal when the thread that started the
// child ends, not when the whole process does.
func (c *child) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := c.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	c.err = c.cmd.Wait()
	close(c.exited)
}

// wait waits for the child to end by itself and returns its state. It stops the child when the context is done.
func (c *child) wait(ctx context.Context) error {
	select {
	case <-c.exited:
		return c.err
	case <-ctx.Done():
		return errors.Join(ctx.Err(), c.stop())
	}
}

// stop interrupts the child and whatever it started, and kills them after the grace period.
func (c *child) stop() error {
	pid := c.cmd.Process.Pid
	defer killGroup(pid) // what outlived its leader
	select {
	case <-c.exited:
		return nil
	default:
	}

	if err := terminateGroup(pid); err != nil {
		return fmt.Errorf("stop %s (process %d): %w", filepath.Base(c.cmd.Path), pid, err)
	}
	timer := time.NewTimer(c.grace)
	defer timer.Stop()
	select {
	case <-c.exited:
		return nil
	case <-timer.C:
	}
	killGroup(pid)
	<-c.exited
	return nil
}

// close stops the child and removes its directory.
func (c *child) close() error {
	return errors.Join(c.stop(), os.RemoveAll(c.dir))
}

// done is closed when the child has ended.
func (c *child) done() <-chan struct{} { return c.exited }

// logTail returns the last lines of the child's log.
func (c *child) logTail() string {
	log, err := os.ReadFile(filepath.Join(c.dir, "log"))
	if err != nil {
		return err.Error()
	}
	if len(log) > logTailBytes {
		log = log[len(log)-logTailBytes:]
	}
	lines := strings.Split(string(bytes.TrimSpace(log)), "\n")
	if len(lines) > logTailLines {
		lines = lines[len(lines)-logTailLines:]
	}
	return strings.Join(lines, "\n")
}
