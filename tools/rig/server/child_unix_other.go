//go:build unix && !linux

package server

import "syscall"

// ownGroup puts a child into its own process group, so that it can be stopped with all that it started and does not receive our
// Ctrl-C. Only Linux can also stop it when we die.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
