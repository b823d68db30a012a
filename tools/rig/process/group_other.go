//go:build !unix

package process

import "os/exec"

// isolate leaves the default, which kills only the command: there are no
// process groups to signal here.
func isolate(*exec.Cmd) {}

// Reap does nothing here; see isolate.
func Reap(*exec.Cmd) {}
