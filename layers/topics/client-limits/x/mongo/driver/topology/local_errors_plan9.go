package topology

import "syscall"

// localErrors returns the errors of system calls that only the client's own machine causes.
func localErrors() []localError {
	return []localError{{syscall.EMFILE, outOfFiles}, {syscall.EACCES, notAllowed}, {syscall.EPERM, notAllowed}}
}
