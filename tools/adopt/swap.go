package adopt

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/lockedfile"

	"mongofork/tools/fork/filetree"
)

// staging is a folder in the application's, which the go command ignores. It has the files before and after a change, and a journal while
// the change is not complete. The vendor folder moves as a whole; the texts are replaced one by one.
const (
	staging = ".mongofork-use"
	before  = staging + "/before"
	after   = staging + "/after"
	journal = staging + "/journal"
)

var texts = []string{"go.mod", "go.sum"}

// place is the folder of an application.
type place string

func (p place) file(name string) string { return filepath.Join(string(p), filepath.FromSlash(name)) }

func (p place) has(name string) bool {
	_, err := os.Lstat(p.file(name))
	return !errors.Is(err, fs.ErrNotExist)
}

// move moves a file or a folder, if it is there.
func (p place) move(from, to string) error {
	if err := os.Rename(p.file(from), p.file(to)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// put makes one of the texts what it is in a tree.
func (p place) put(name string, t filetree.Tree) error {
	return t.Put(string(p), name, p.file(staging))
}

// steps make the change, up to its check. There is no vendor folder that does not fit go.mod meanwhile: without one, the go command takes
// modules from its cache.
func (f Files) steps(p place) []func() error {
	return []func() error{
		func() error { return os.Mkdir(p.file(staging), 0o755) },
		func() error { return with(nil, f.Before, texts).Write(p.file(before)) },
		func() error { return f.After.Write(p.file(after)) },
		func() error { return filetree.Replace(p.file(journal), []byte("mongofork use has not finished.\n")) },
		func() error { return p.move("vendor", before+"/vendor") },
		func() error { return p.put("go.sum", f.After) },
		func() error { return p.put("go.mod", f.After) },
		func() error { return p.move(after+"/vendor", "vendor") },
	}
}

// back takes back as many of the steps as were made, and so does another time if it is killed.
func (f Files) back(p place) []func() error {
	return []func() error{
		func() error {
			if p.has(before + "/vendor") {
				return p.move("vendor", after+"/vendor")
			}
			return nil
		},
		func() error { return p.put("go.mod", f.Before) },
		func() error { return p.put("go.sum", f.Before) },
		func() error { return p.move(before+"/vendor", "vendor") },
		func() error { return os.RemoveAll(p.file(journal)) },
		func() error { return os.RemoveAll(p.file(staging)) },
	}
}

func run(steps []func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// Repair takes back a change that was killed before it was complete. It reports whether there was one.
func (a Application) Repair() (bool, error) {
	a.Dir = realFolder(a.Dir)
	if !place(a.Dir).has(staging) {
		return false, nil
	}
	unlock, err := a.lock()
	if err != nil {
		return false, err
	}
	defer unlock()
	return a.takeBack()
}

// lock keeps other processes of this checkout from changing the application.
func (a Application) lock() (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(a.recordFile()), 0o755); err != nil {
		return nil, err
	}
	return lockedfile.MutexAt(a.recordFile() + ".mutex").Lock()
}

// takeBack takes back a change that is not complete, unless that would lose what somebody has made of the files since.
func (a Application) takeBack() (bool, error) {
	p := place(a.Dir)
	if !p.has(journal) {
		return false, os.RemoveAll(p.file(staging))
	}
	was, wasErr := tree(p.file(before), false)
	made, madeErr := tree(p.file(after), false)
	now, err := tree(a.Dir, false)
	if err := errors.Join(wasErr, madeErr, err); err != nil {
		return false, err
	}
	edited := p.has("vendor") && p.has(before+"/vendor") && p.has(after+"/vendor")
	for _, name := range texts {
		edited = edited || !bytes.Equal(now[name], was[name]) && !bytes.Equal(now[name], made[name])
	}
	if edited {
		return false, fmt.Errorf("a use was killed in this application, and its go.mod, go.sum or vendor folder has changed since: "+
			"%s has them as they were; move back what you need, and remove %s", p.file(before), p.file(staging))
	}
	return true, run(Files{was, made}.back(p))
}

// changeable says why the application could not be changed. Use could replace a read-only file, but somebody has made it read-only.
func (a Application) changeable() error {
	for _, dir := range []string{a.Dir, a.Root} {
		if strings.ContainsAny(dir, "\r\n") {
			return fmt.Errorf("the go command builds nothing in %q, because of the line break: rename the folder", dir)
		}
	}
	for _, name := range append([]string{".", "vendor"}, texts...) {
		name = filepath.Join(a.Dir, name)
		if info, err := os.Stat(name); err == nil && info.Mode().Perm()&0o200 == 0 {
			return fmt.Errorf("%s is read-only: make it writable first", name)
		}
	}
	return nil
}
