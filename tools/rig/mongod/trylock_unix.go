//go:build unix

package mongod

import (
	"errors"
	"os"
	"syscall"
)

// tryLock locks a file until it is closed, or its process ends. It reports whether the file was unlocked.
func tryLock(file *os.File) (bool, error) {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
