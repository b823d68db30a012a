package server

import (
	"os"
	"path/filepath"
	"time"
)

// newRunDir makes a new folder for data and logs below parent. It removes those there that are older than any test server gets: who
// made them was killed.
func newRunDir(parent string) (string, error) {
	parent, err := filepath.Abs(parent)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	old, _ := filepath.Glob(filepath.Join(parent, "run-*")) // the pattern is correct
	for _, path := range old {
		if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > certificateLife {
			_ = os.RemoveAll(path) // or the next time
		}
	}
	return os.MkdirTemp(parent, "run-")
}
