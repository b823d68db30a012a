package version

// Fork names the patch level of this fork of the driver. A release of the fork is named after the driver version that it is built
// on, a hyphen, and this name: v2.5.0-fork.1. What is built from another commit names it, as in v2.5.0-fork.1.g0123456789ab for one
// after fork.1.
const Fork = "fork.1"

// Driver goes into the client metadata of the handshake, after the versions of wrapping libraries, and into the log. It names the
// fork like its releases, so that 2.5.0-fork.1 is not taken for 2.5.0.
func init() { Driver += "-" + Fork }
