package mongod

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync/atomic"
)

// process is a mongod from its start to its end.
type process struct {
	cmd    *exec.Cmd
	killed atomic.Bool
	exited chan struct{}
}

// startProcess starts a program whose output goes to dir/log.
func startProcess(path string, args []string, dir string) (*process, error) {
	log, err := os.OpenFile(filepath.Join(dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has its own copy
	cmd := exec.Command(path, args...)
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = attributes()
	p := &process{cmd: cmd, exited: make(chan struct{})}
	started := make(chan error)
	go p.run(started)
	if err := <-started; err != nil {
		return nil, errors.Join(err, os.Remove(log.Name()))
	}
	return p, nil
}

// run starts the process and waits for it on one thread: Linux sends the parent-death signal when the thread that started the
// process ends, not when all of ours do.
func (p *process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	_ = p.cmd.Wait() // how it ended is in its state
	close(p.exited)
}

// kill ends the process and returns when it has ended. Paused processes can be killed, too.
func (p *process) kill() error {
	p.killed.Store(true)
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.exited
	return nil
}
