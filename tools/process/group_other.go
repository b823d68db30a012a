//go:build !unix

package process

import (
	"errors"
	"os"
	"os/exec"
)

// isolate does nothing, so only the command is killed: there are no process groups to signal here.
func isolate(*exec.Cmd) {}

// Reap does nothing here; see isolate.
func Reap(*exec.Cmd) {}

// Pause is not supported here.
func Pause(*os.Process) error { return errors.ErrUnsupported }

// Resume is not supported here.
func Resume(*os.Process) error { return errors.ErrUnsupported }
