//go:build unix

package mongod

import (
	"os"
	"syscall"
)

func pauseProcess(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }

func resumeProcess(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
