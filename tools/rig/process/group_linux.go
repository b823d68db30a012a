package process

import "syscall"

// attributes puts a command into a process group of its own, because "go test" leaves its test binaries running when it alone
// is killed, and has the kernel kill the command when this process ends in whatever way. The signal is sent when the thread
// ends that started the command; the threads of a Go program end with it, unless a goroutine ends that is locked to one.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
