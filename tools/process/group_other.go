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

// Pause and Resume are not supported here: sending them is an error.
const Pause, Resume = syscall.SIGHUP, syscall.SIGHUP
