//go:build !unix

package server

import (
	"errors"
	"os"
	"syscall"
)

func ownGroup() *syscall.SysProcAttr { return nil }

// terminateGroup kills the process at once, because without Unix signals there is no interrupt that every program understands.
func terminateGroup(pid int) error {
	process, err := os.FindProcess(pid)
	if err != nil {
		return nil // it ended in the meantime
	}
	if err := process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

func killGroup(pid int) { _ = terminateGroup(pid) }
