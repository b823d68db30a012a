package server

import (
	"errors"
	"os"
	"path/filepath"
)

// ownerFile is locked while the owner of a folder lives.
const ownerFile = "owner"

// runDir is a folder for the data and logs of what is started.
type runDir struct {
	path  string
	owner *os.File
}

// newRunDir makes a new folder below parent, and removes those there whose owners have ended.
func newRunDir(parent string) (*runDir, error) {
	parent, err := filepath.Abs(parent)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return nil, err
	}
	sweep(parent)
	path, err := os.MkdirTemp(parent, "new-run-")
	if err != nil {
		return nil, err
	}
	owner, err := os.Create(filepath.Join(path, ownerFile))
	final := filepath.Join(parent, filepath.Base(path)[len("new-"):])
	if err == nil {
		tryLock(owner) // before it gets the name that sweepers see
		err = os.Rename(path, final)
	}
	if err != nil {
		return nil, errors.Join(err, owner.Close(), os.RemoveAll(path))
	}
	return &runDir{path: final, owner: owner}, nil
}

// sweep removes folders whose owners have ended. Folders that cannot be removed stay for the next time.
func sweep(parent string) {
	paths, _ := filepath.Glob(filepath.Join(parent, "run-*")) // the pattern is correct
	for _, path := range paths {
		owner, err := os.Open(filepath.Join(path, ownerFile))
		if err != nil {
			continue
		}
		if tryLock(owner) {
			_ = os.RemoveAll(path)
		}
		_ = owner.Close()
	}
}

func (d *runDir) remove() error { return errors.Join(os.RemoveAll(d.path), d.owner.Close()) }
