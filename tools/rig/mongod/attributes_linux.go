package mongod

import "syscall"

// attributes puts the process into its own group, which does not receive our Ctrl-C, and has the kernel kill it when we end in
// any way, because no other signal would reach it while it is paused.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
