//go:build unix && !linux

package process

import "syscall"

// attributes puts a command into its own process group, because "go test" leaves its test binaries running when only it is
// killed. Only Linux can also kill the command when this process ends.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
