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

const logTail = 4 << 10

// child is a program that was started here. On Linux it ends even if this process is killed.
type child struct {
	cmd    *exec.Cmd
	log    string // the file with its output
	killed atomic.Bool
	exited context.Context // ends when it has
}

// startChild starts a program whose files, the temporary ones and its output included, are in a folder, with env added to this process's
// environment.
func startChild(dir string, env []string, path string, args ...string) (*child, error) {
	log, err := os.OpenFile(filepath.Join(dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the program has its own copy
	env = append(append(os.Environ(), "TMPDIR="+dir, "TMP="+dir, "TEMP="+dir), env...)
	cmd := process.Command(context.Background(), dir, env, path, args...)
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

// stop ends the program, paused or not, with all that it started, and returns when it has ended.
func (c *child) stop() {
	c.killed.Store(true)
	_ = c.cmd.Process.Kill() // fails only if it has ended
	<-c.exited.Done()
	process.Reap(c.cmd)
}

// tail returns the end of the program's output.
func (c *child) tail() string {
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
