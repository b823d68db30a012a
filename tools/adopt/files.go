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

// reversed returns the change that takes this one back.
func (f Files) reversed() Files { return Files{f.After, f.Before} }

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

// holds reports whether a folder has the files as they are after the change or, where that was interrupted, before.
func (f Files) holds(dir string) bool {
	return !slices.ContainsFunc(f.Paths(), func(path string) bool {
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(path)))
		is := func(tree filetree.Tree) bool {
			want, exists := tree[path]
			return bytes.Equal(data, want) && (err == nil) == exists
		}
		return !is(f.After) && !is(f.Before)
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
		if err := os.Remove(a.recordFile()); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	paths := r.Paths()
	data, err := json.Marshal(Files{with(nil, r.Before, paths), with(nil, r.After, paths)})
	return errors.Join(err, filetree.Replace(a.recordFile(), data))
}

// followedBy returns the record of a change of all files that follows the recorded one.
func (f Files) followedBy(next Files) *Files {
	return &Files{with(next.Before, f.Before, f.Paths()), next.After}
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
