package mongod

import "syscall"

// attributes puts the process into its own group, which gets no Ctrl-C meant for us, and has the kernel kill it when we end in
// any way. No other signal would reach it while it is paused.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
