//go:build unix

package main

import (
	"syscall"
	"time"
)

// processorTime returns the time that processors have spent on the process, the system's part included.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
