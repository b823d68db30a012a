package process

import "syscall"

// attributes puts a command into its own process group, because "go test" leaves its test binaries running when only it is
// killed, and has the kernel kill the command when this process ends in any way. The signal is sent when the thread that started
// the command ends; the threads of a Go program end with it, unless a goroutine ends that is locked to one.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
