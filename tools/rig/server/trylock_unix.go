//go:build unix

package server

import (
	"os"
	"syscall"
)

// tryLock locks a file until it is closed, or its process ends. It reports whether the file was unlocked.
func tryLock(file *os.File) bool {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
