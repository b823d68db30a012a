package process

import "syscall"

// Only Linux can also kill a command when this process ends in any way. The signal is sent when the thread that started the command ends;
// the threads of a Go program end with it, unless a goroutine ends that is locked to one.
func init() { attributes.Pdeathsig = syscall.SIGKILL }
