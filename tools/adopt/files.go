package adopt

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"al.essio.dev/pkg/shellescape"
	"github.com/rogpeppe/go-internal/lockedfile"

	"mongofork/tools/fork/filetree"
)

// staging is a folder in the application's, which the go command ignores. It has a journal while a change is not complete, and files that
// are not in their place yet.
const staging = ".mongofork-use"

// modules is the list without which the go command refuses a vendor folder.
const modules = "vendor/modules.txt"

var texts = []string{"go.mod", "go.sum"}

// record is a change of files of an application: those that it changes without the fork, before the change, and after it. It is the journal
// of a change, and stays in the fork's repository for undo. Without is nil if that is not known. No two records are equal.
type record struct {
	ID                     string
	Without, Before, After filetree.Tree
}

func (r record) paths() []string {
	return slices.Concat(r.Without.Paths(), r.Before.Paths(), r.After.Paths())
}

// recordFile is the place of the record of the last change of the application.
func (a Application) recordFile() string {
	return filepath.Join(a.Project.Root, "build", "use", filetree.Digest([]byte(a.Dir))[:16]+".json")
}

// record reads the record of the last change; it is empty if there is none.
func (a Application) record() (r record, err error) {
	data, err := os.ReadFile(a.recordFile())
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	return r, errors.Join(err, json.Unmarshal(data, &r))
}

// original returns the files without the fork; nil if the record does not have them, or something else has changed since.
func (c *Change) original() (filetree.Tree, error) {
	if !c.forked {
		return c.Before, nil
	}
	r, err := c.record()
	if err != nil || r.Without == nil || len(filetree.Changed(with(nil, c.Before, r.paths()), r.After)) > 0 {
		return nil, err
	}
	return with(c.Before, r.Without, r.paths()), nil
}

// commit makes the change in the application's folder. After use it checks that the fork is in effect there, with the present environment.
// If the fork is not in effect, nothing changes. If the process is killed, Repair takes back what it has done.
func (c *Change) commit(ctx context.Context) error {
	unlock, err := c.lock()
	if err != nil {
		return err
	}
	defer unlock()
	now, err := tree(c.Dir, c.vendored)
	if err != nil {
		return err
	}
	if changed := filetree.Changed(c.Before, now); len(changed) > 0 {
		return fmt.Errorf("%s was changed by somebody else meanwhile: run this again", filepath.Join(c.Dir, changed[0]))
	}
	data, err := json.Marshal(c.begun())
	if err != nil {
		return err
	}
	if err = filetree.Replace(filepath.Join(c.Dir, staging, "journal"), data); err == nil {
		err = run(steps(c.Dir, c.Paths(), c.After))
	}
	if err == nil && c.Base != "" {
		if c.Effect, _, err = c.check(ctx, ""); err != nil && c.work != "" {
			err = fmt.Errorf("%w: the workspace %s decides", err, c.work)
		}
		if err != nil {
			err = fmt.Errorf("the fork would not be in effect: %w", err)
		}
	}
	if err == nil {
		err = filetree.Replace(c.recordFile(), data) // from here on it is complete
	}
	if err != nil {
		_, backErr := c.takeBack()
		return errors.Join(err, backErr)
	}
	err = os.RemoveAll(filepath.Join(c.Dir, staging))
	if c.Base == "" {
		err = errors.Join(err, os.Remove(c.recordFile()))
	}
	if err != nil {
		c.Notes = append(c.Notes, fmt.Sprintf("something is left that is of no use: %v", err))
	}
	return nil
}

// begun returns the record of the change.
func (c *Change) begun() record {
	paths := c.Paths()
	if c.vendored {
		paths = append(paths, modules)
	}
	r := record{ID: rand.Text()}
	if c.origin != nil {
		paths = append(paths, filetree.Changed(c.origin, c.After)...)
		r.Without = with(nil, c.origin, paths)
	}
	r.Before, r.After = with(nil, c.Before, paths), with(nil, c.After, paths)
	return r
}

// Paths returns the files that change, in order.
func (c *Change) Paths() []string { return filetree.Changed(c.Before, c.After) }

// Diff compares the lines of a file before and after, whatever ends them.
func (c *Change) Diff(path string) string {
	return filetree.Diff("a/"+path, unixLines(c.Before[path]), "b/"+path, unixLines(c.After[path]))
}

func unixLines(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")) }

// steps make files of an application what they are in a tree, one by one. If they are of the vendor folder, the list of its modules is
// missing meanwhile, so that nothing is built from a part of them.
func steps(dir string, paths []string, t filetree.Tree) (list []func() error) {
	add := func(t filetree.Tree, path string) {
		list = append(list, func() error { return put(dir, path, t) })
	}
	vendor := slices.ContainsFunc(paths, func(path string) bool { return strings.HasPrefix(path, "vendor/") })
	if vendor {
		add(nil, modules)
	}
	for _, stay := range []bool{false, true} { // what becomes a folder has to go first
		for _, path := range paths {
			if _, stays := t[path]; stays == stay && path != modules {
				add(t, path)
			}
		}
	}
	if vendor {
		add(t, modules)
	}
	return list
}

// put makes a file what it is in a tree. A link that leads to the vendor folder stays; that folder may be on another volume.
func put(dir, path string, t filetree.Tree) error {
	vendor, at := filepath.Join(dir, "vendor"), filepath.Join(dir, staging)
	if name, below := strings.CutPrefix(path, "vendor/"); below && realFolder(vendor) != vendor {
		if data, stays := t[path]; stays {
			return filetree.Tree{name: data}.Put(realFolder(vendor), name, "")
		}
		return filetree.Tree{}.Put(realFolder(vendor), name, "")
	}
	return t.Put(dir, path, at)
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
	if _, err := os.Lstat(filepath.Join(a.Dir, staging)); errors.Is(err, fs.ErrNotExist) {
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
	at := filepath.Join(a.Dir, staging)
	journal, err := os.ReadFile(filepath.Join(at, "journal"))
	complete, _ := os.ReadFile(a.recordFile())
	if errors.Is(err, fs.ErrNotExist) || err == nil && bytes.Equal(journal, complete) {
		return false, os.RemoveAll(at)
	}
	var r record
	if err := errors.Join(err, json.Unmarshal(journal, &r)); err != nil {
		return false, fmt.Errorf("%s: %w", at, err)
	}
	now, err := read(a.Dir, r.paths())
	if err != nil {
		return false, err
	}
	back, made := filetree.Changed(now, r.Before), filetree.Changed(now, r.After)
	for _, path := range back {
		if _, is := now[path]; slices.Contains(made, path) && (is || path != modules) {
			return false, fmt.Errorf("a use was killed in this application, and its %s has changed since: take your change "+
				"back, or keep the files as they are with: rm -r %s", path, shellescape.Quote(at))
		}
	}
	for _, path := range r.After.Paths() { // the folder that was made for a file may be empty
		folder := filepath.Dir(path)
		for filepath.Dir(folder) != "." && syscall.Rmdir(filepath.Join(a.Dir, folder)) == nil {
			folder = filepath.Dir(folder)
		}
	}
	if err := run(steps(a.Dir, back, r.Before)); err != nil {
		return false, err
	}
	return true, os.RemoveAll(at)
}

// foreign fails for a folder of the fork's own repository: whoever names one starts the go command there, and means another.
func (a Application) foreign() error {
	inside, err := filepath.Rel(realFolder(a.Project.Root), realFolder(a.Dir))
	if err != nil || inside == ".." || strings.HasPrefix(inside, ".."+string(filepath.Separator)) {
		return nil
	}
	return fmt.Errorf("%s is in the fork's own repository, %s: name the folder of the application instead, such as use ../app, relative "+
		"to the folder that go -C names, or with its full path", a.Dir, a.Project.Root)
}

// readsGoMod fails if the environment has the go command read another file than go.mod: then the fork would not be in effect.
func (a Application) readsGoMod(ctx context.Context) error {
	flags, err := a.goCommand(ctx, nil, "env", "GOFLAGS")
	if err == nil && strings.Contains(flags, "-modfile=") {
		err = fmt.Errorf("GOFLAGS is %q, with which the go command reads another file than the go.mod that would change: take "+
			"-modfile out of it first", flags)
	}
	return err
}

// changeable says why the application could not be changed. Use could replace a read-only file, but somebody has made it read-only.
func (c *Change) changeable() error {
	for _, dir := range []string{c.Dir, c.Project.Root} {
		if strings.ContainsAny(dir, "\r\n") {
			return fmt.Errorf("the go command builds nothing in %q, because of the line break: rename the folder", dir)
		}
	}
	for _, name := range append([]string{".", "vendor"}, texts...) {
		name = filepath.Join(c.Dir, name)
		if info, err := os.Stat(name); err == nil && info.Mode().Perm()&0o200 == 0 {
			return fmt.Errorf("%s is read-only: make it writable first", name)
		}
	}
	return nil
}

// with returns a tree with some files as another one has them.
func with(tree, other filetree.Tree, paths []string) filetree.Tree {
	all := filetree.Tree{}
	maps.Copy(all, tree)
	for _, path := range paths {
		if data, exists := other[path]; exists {
			all[path] = data
		} else {
			delete(all, path)
		}
	}
	return all
}

func vendored(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, filepath.FromSlash(modules)))
	return err == nil
}

// read reads files below dir, as far as they are there.
func read(dir string, paths []string) (filetree.Tree, error) {
	t := filetree.Tree{}
	for _, path := range paths {
		name := filepath.Join(dir, filepath.FromSlash(path))
		if info, err := os.Stat(name); err != nil || info.IsDir() {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		t[path] = data
	}
	return t, nil
}

// tree reads go.mod, go.sum and, if it is wanted, the vendor folder below dir.
func tree(dir string, vendor bool) (filetree.Tree, error) {
	t, err := read(dir, texts)
	if err != nil || !vendor {
		return t, err
	}
	folder, err := filepath.EvalSymlinks(filepath.Join(dir, "vendor"))
	if err != nil {
		return nil, err
	}
	files, err := filetree.Read(folder)
	for name, data := range files {
		t["vendor/"+name] = data
	}
	return t, err
}

// realFolder returns the absolute path of a folder without links, as far as that is possible.
func realFolder(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return dir
}
