//go:build unix && !linux

package mongod

import "syscall"

// attributes puts the process into its own group, which does not receive our Ctrl-C. Only Linux can also kill it when we end.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
