//go:build unix

package server

import "syscall"

func terminateGroup(pid int) error {
	err := syscall.Kill(-pid, syscall.SIGTERM)
	if err == syscall.ESRCH {
		return nil // it ended in the meantime
	}
	return err
}

// killGroup kills the rest of a process group. Usually nothing is left.
func killGroup(pid int) {
	_ = syscall.Kill(-pid, syscall.SIGKILL)
}
