package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"

	"mongofork/tools/rig/process"
)

const (
	logTailLines = 20
	logTailBytes = 16 << 10
)

// child is a program that was started here. Its output is in dir/log. On Linux it ends even if this process is killed.
type child struct {
	cmd    *exec.Cmd
	log    string
	killed atomic.Bool
	exited chan struct{}
	// interrupt asks the program, and what it started, to end, and kills it after process.Grace.
	interrupt context.CancelFunc
}

// startChild starts a program with env added to this process's environment.
func startChild(dir string, env []string, path string, args ...string) (*child, error) {
	log, err := os.OpenFile(filepath.Join(dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the program has its own copy
	ctx, interrupt := context.WithCancel(context.Background())
	c := &child{
		interrupt: interrupt, cmd: process.Command(ctx, dir, append(os.Environ(), env...), path, args...),
		log: log.Name(), exited: make(chan struct{}),
	}
	c.cmd.Stdout, c.cmd.Stderr = log, log
	if err := c.cmd.Start(); err != nil {
		interrupt()
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	go func() {
		_ = c.cmd.Wait() // how it ended is in its state
		close(c.exited)
	}()
	return c, nil
}

// Stop kills the program, paused or not, with all that it started, and returns when it has ended.
func (c *child) Stop() error {
	c.killed.Store(true)
	_ = c.cmd.Process.Kill() // fails only if it has ended
	<-c.exited
	process.Reap(c.cmd)
	return nil
}

// Failed is closed when the program has ended.
func (c *child) Failed() <-chan struct{} { return c.exited }

// Log returns the last lines of the program's output.
func (c *child) Log() string {
	text, err := os.ReadFile(c.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text[max(0, len(text)-logTailBytes):])), "\n")
	return strings.Join(lines[max(0, len(lines)-logTailLines):], "\n")
}

// ended says how the program ended.
func (c *child) ended() error {
	return fmt.Errorf("%s exited (%v); the end of its log:\n%s", filepath.Base(c.cmd.Path), c.cmd.ProcessState, c.Log())
}

// newRunDir makes a new folder for data and logs below parent, and removes those of processes that were killed.
func newRunDir(parent string) (string, error) {
	parent, err := filepath.Abs(parent)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	left, err := filepath.Glob(filepath.Join(parent, "run-*-*"))
	for _, dir := range left {
		var owner int
		if _, scanned := fmt.Sscanf(filepath.Base(dir), "run-%d-", &owner); scanned == nil && !lives(owner) {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}
	if err != nil {
		return "", err
	}
	return os.MkdirTemp(parent, fmt.Sprintf("run-%d-", os.Getpid()))
}

// lives reports whether there is a process with this number.
func lives(pid int) bool {
	process, err := os.FindProcess(pid)
	return err == nil && !errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone)
}
