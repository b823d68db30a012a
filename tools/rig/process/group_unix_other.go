//go:build unix && !linux

package process

import "syscall"

// attributes puts a command into a process group of its own, because "go test" leaves its test binaries running when it alone
// is killed. Only Linux can also kill the command when this process ends.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
