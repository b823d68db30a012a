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

// killGroup ends what is left of a process group. That nothing is left is the usual case.
func killGroup(pid int) {
	_ = syscall.Kill(-pid, syscall.SIGKILL)
}
