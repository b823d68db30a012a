package mongod

import (
	"errors"
	"os"
	"path/filepath"
)

const (
	runPrefix = "run-"
	// ownerFile is locked while the owner of a folder lives.
	ownerFile = "owner"
)

// runDir is a folder for one deployment.
type runDir struct {
	path  string
	owner *os.File
}

// newRunDir makes a new folder below parent, and removes those there whose owners have ended.
func newRunDir(parent string) (_ *runDir, err error) {
	parent, err = filepath.Abs(parent)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return nil, err
	}
	sweep(parent)
	path, err := os.MkdirTemp(parent, "new-"+runPrefix)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(path))
		}
	}()
	owner, err := os.Create(filepath.Join(path, ownerFile))
	if err != nil {
		return nil, err
	}
	if _, err := tryLock(owner); err != nil {
		return nil, errors.Join(err, owner.Close())
	}
	// It is locked before it gets the name that sweepers see.
	final := filepath.Join(parent, filepath.Base(path)[len("new-"):])
	if err := os.Rename(path, final); err != nil {
		return nil, errors.Join(err, owner.Close())
	}
	return &runDir{path: final, owner: owner}, nil
}

// sweep removes folders whose owners have ended. Folders that cannot be removed stay for the next time.
func sweep(parent string) {
	paths, _ := filepath.Glob(filepath.Join(parent, runPrefix+"*")) // the pattern is correct
	for _, path := range paths {
		owner, err := os.Open(filepath.Join(path, ownerFile))
		if err != nil {
			continue
		}
		if free, err := tryLock(owner); err == nil && free {
			_ = os.RemoveAll(path)
		}
		_ = owner.Close()
	}
}

// release lets a sweeper remove the folder.
func (d *runDir) release() error { return d.owner.Close() }

func (d *runDir) remove() error {
	return errors.Join(os.RemoveAll(d.path), d.owner.Close())
}
