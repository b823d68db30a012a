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

	"go.mongodb.org/mongo-driver/v2/bson"

	"mongofork/tools/rig/process"
)

const logTail = 4 << 10

// child is a program that was started here. On Linux it ends even if this process is killed.
type child struct {
	cmd    *exec.Cmd
	log    string // the file with its output
	dir    string // is removed with it, unless it is empty
	killed atomic.Bool
	exited context.Context // ends when it has
}

// startChild starts a program with env added to this process's environment. Its output goes to dir/log.
func startChild(dir string, env []string, path string, args ...string) (*child, error) {
	log, err := os.OpenFile(filepath.Join(dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the program has its own copy
	cmd := process.Command(context.Background(), dir, append(os.Environ(), env...), path, args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	exited, exit := context.WithCancel(context.Background())
	go func() {
		_ = cmd.Wait() // how it ended is in its state
		exit()
	}()
	return &child{cmd: cmd, log: log.Name(), exited: exited}, nil
}

// openChild starts a program whose files, temporary ones included, are in a folder of its own.
func openChild(cfg Config, path string, args []string, env ...string) (*child, error) {
	dir, err := newRunDir(cfg.folder())
	if err != nil {
		return nil, err
	}
	c, err := startChild(dir, append([]string{"TMPDIR=" + dir, "TMP=" + dir, "TEMP=" + dir}, env...), path, args...)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	c.dir = dir
	return c, nil
}

// answers waits until the program, which is a server at an address, answers, unless it ends.
func (c *child) answers(ctx context.Context, address string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	context.AfterFunc(c.exited, cancel)
	return runAdmin(ctx, direct(address), bson.D{{Key: "ping", Value: 1}}, nil)
}

// Stop ends the program, paused or not, with all that it started, and returns when it has ended.
func (c *child) Stop() error {
	c.killed.Store(true)
	_ = c.cmd.Process.Kill() // fails only if it has ended
	<-c.exited.Done()
	process.Reap(c.cmd)
	return os.RemoveAll(c.dir)
}

// Failed is closed when the program has ended.
func (c *child) Failed() <-chan struct{} { return c.exited.Done() }

// Log returns the end of the program's output.
func (c *child) Log() string {
	text, err := os.ReadFile(c.log)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text[max(0, len(text)-logTail):]))
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
