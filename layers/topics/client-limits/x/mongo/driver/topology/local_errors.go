//go:build !plan9

package topology

import "syscall"

// localErrors returns the errors of system calls that only the client's own machine causes, or the path's firewalls. Those of Windows
// sockets, of which package syscall has few, stand here by their numbers. An unreachable host or network is not among them: that is
// also what routers say of a server that no longer answers.
func localErrors() []localError {
	return []localError{
		{syscall.EMFILE, outOfFiles},
		{syscall.ENFILE, outOfFiles},
		{syscall.Errno(10024), outOfFiles}, // WSAEMFILE

		{syscall.EADDRNOTAVAIL, outOfPorts},
		{syscall.EADDRINUSE, outOfPorts},
		{syscall.Errno(10048), outOfPorts}, // WSAEADDRINUSE, by which Windows says that no port is left
		{syscall.Errno(10049), outOfPorts}, // WSAEADDRNOTAVAIL
		{syscall.Errno(10055), outOfPorts}, // WSAENOBUFS, by which Windows says so, too

		{syscall.ENOBUFS, outOfMemory},
		{syscall.ENOMEM, outOfMemory},

		{syscall.EACCES, notAllowed},
		{syscall.EPERM, notAllowed},
		{syscall.Errno(10013), notAllowed}, // WSAEACCES

		{syscall.EAFNOSUPPORT, noOverload},
		{syscall.EPROTONOSUPPORT, noOverload},
		{syscall.EPROTOTYPE, noOverload},
		{syscall.ENETDOWN, noOverload},     // the client's network interface
		{syscall.ENOENT, noOverload},       // of a Unix socket, as are the next two
		{syscall.ENOTDIR, noOverload},      //
		{syscall.ELOOP, noOverload},        //
		{syscall.Errno(10041), noOverload}, // WSAEPROTOTYPE
		{syscall.Errno(10043), noOverload}, // WSAEPROTONOSUPPORT
		{syscall.Errno(10044), noOverload}, // WSAESOCKTNOSUPPORT
		{syscall.Errno(10046), noOverload}, // WSAEPFNOSUPPORT
		{syscall.Errno(10047), noOverload}, // WSAEAFNOSUPPORT
		{syscall.Errno(10050), noOverload}, // WSAENETDOWN
		{syscall.Errno(10091), noOverload}, // WSASYSNOTREADY
		{syscall.Errno(10093), noOverload}, // WSANOTINITIALISED
		{syscall.Errno(10106), noOverload}, // WSAEPROVIDERFAILEDINIT
	}
}
