package adopt

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"mongofork/tools/fork/filetree"
)

// Files are files of an application, below its folder, before and after a change of them.
type Files struct{ Before, After filetree.Tree }

// Paths returns those that change, in order.
func (f Files) Paths() []string { return filetree.Changed(f.Before, f.After) }

// Diff compares the lines of a file before and after, whatever ends them.
func (f Files) Diff(path string) string {
	return filetree.Diff("a/"+path, unixLines(f.Before[path]), "b/"+path, unixLines(f.After[path]))
}

func unixLines(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")) }

// apply makes the change below a folder, all of it or nothing.
func (f Files) apply(dir string) error {
	paths := f.Paths()
	for i, path := range paths {
		if err := f.After.Put(dir, path); err != nil {
			for _, done := range paths[:i] {
				err = errors.Join(err, f.Before.Put(dir, done))
			}
			return err
		}
	}
	return nil
}

// hold reports whether a tree has the files as they are after the change or, where that was interrupted, before.
func (f Files) hold(now filetree.Tree) bool {
	return !slices.ContainsFunc(f.Paths(), func(path string) bool {
		return !bytes.Equal(now[path], f.After[path]) && !bytes.Equal(now[path], f.Before[path])
	})
}

// recordFile is the place where Use leaves for Undo what it changed in the application.
func (a Application) recordFile() string {
	return filepath.Join(a.Root, "build", "use", filetree.Digest([]byte(a.Dir))[:16]+".json")
}

// record reads the record; nil if there is none.
func (a Application) record() (r *Files, err error) {
	data, err := os.ReadFile(a.recordFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return r, errors.Join(err, json.Unmarshal(data, &r))
}

// keep replaces the record; none removes it.
func (a Application) keep(r *Files) error {
	if r == nil {
		return os.RemoveAll(a.recordFile())
	}
	paths := r.Paths()
	data, err := json.Marshal(Files{with(nil, r.Before, paths), with(nil, r.After, paths)})
	return errors.Join(err, filetree.Replace(a.recordFile(), data))
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
	_, err := os.Stat(filepath.Join(dir, "vendor", "modules.txt"))
	return err == nil
}

// tree reads go.mod, go.sum and, if it is wanted, the vendor folder below dir.
func tree(dir string, vendor bool) (filetree.Tree, error) {
	t := filetree.Tree{}
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			t[name] = data
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if !vendor {
		return t, nil
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
