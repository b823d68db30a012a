package version

// Fork names the patch level of this fork of the driver. A release of the fork is the version of the driver that it is built on, a
// hyphen, and this name: v2.5.0-fork.1.
const Fork = "fork.1"

// Driver goes into the client metadata of the handshake, behind the names of outer libraries' versions, and into the log: it
// names the fork there as its releases do, so that 2.5.0-fork.1 is not taken for 2.5.0.
func init() { Driver += "-" + Fork }
