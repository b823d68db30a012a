//go:build !unix

package process

import (
	"os/exec"
	"syscall"
)

// isolate does nothing, so only the command is killed: there are no process groups to signal here.
func isolate(*exec.Cmd) {}

// Reap does nothing here; see isolate.
func Reap(*exec.Cmd) {}

// Neither is supported here: sending it is an error.
const (
	Pause  = syscall.SIGHUP
	Resume = syscall.SIGHUP
)
