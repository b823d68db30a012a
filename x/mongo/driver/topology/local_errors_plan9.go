package topology

import "syscall"

// localError is the error of a system call, and its cause.
type localError struct {
	err   error
	cause cause
}

// localErrors returns the errors of system calls that only the client's own machine causes.
func localErrors() []localError {
	return []localError{{syscall.EMFILE, outOfFiles}, {syscall.EACCES, notAllowed}, {syscall.EPERM, notAllowed}}
}
