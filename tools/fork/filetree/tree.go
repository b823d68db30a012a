// Package filetree holds the content of folders in memory: it reads, writes, hashes and compares them.
package filetree

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/rogpeppe/go-internal/diff"
	"golang.org/x/mod/sumdb/dirhash"
)

// Tree is the content of a directory: regular files by their slash-separated path. Modes are not part of it; files are written as 0644.
type Tree map[string][]byte

// Read reads all regular files below dir. Anything else, a symbolic link for instance, is an error: module zips drop it silently.
func Read(dir string) (Tree, error) {
	t := Tree{}
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if !e.Type().IsRegular() {
			return fmt.Errorf("%s is not a regular file (remove it, or put a copy in its place)", name)
		}
		rel, _ := filepath.Rel(dir, name)
		t[filepath.ToSlash(rel)], err = os.ReadFile(name)
		return err
	})
	return t, err
}

func (t Tree) Paths() []string { return slices.Sorted(maps.Keys(t)) }

// Hash returns the "h1:" hash of the tree, each path after prefix, as go.sum has it: of a module the prefix is "module@version/".
func (t Tree) Hash(prefix string) (string, error) {
	var names []string
	for p := range t {
		names = append(names, prefix+p)
	}
	return dirhash.Hash1(names, func(name string) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(t[name[len(prefix):]])), nil
	})
}

func Digest(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }

func (t Tree) Write(dir string) error {
	for p := range t {
		if err := t.Put(dir, p); err != nil {
			return err
		}
	}
	return nil
}

// Put makes a file below dir what it is in the tree. One that the tree lacks goes, and folders with their last file.
func (t Tree) Put(dir, path string) error {
	name := filepath.Join(dir, filepath.FromSlash(path))
	if data, stays := t[path]; stays {
		return Replace(name, data)
	}
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for at := filepath.Dir(name); at != dir && os.Remove(at) == nil; at = filepath.Dir(at) {
	}
	return nil
}

// Replace replaces a file whole: a reader sees the old or the new content.
func Replace(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Chmod(0o644), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), name)
}

// Changed returns the paths of the files in which a tree differs from another, in order.
func Changed(before, after Tree) []string {
	paths := append(before.Paths(), after.Paths()...)
	slices.Sort(paths)
	return slices.DeleteFunc(slices.Compact(paths), func(p string) bool {
		was, had := before[p]
		now, has := after[p]
		return had && has && bytes.Equal(was, now)
	})
}

// Diff returns the unified diff of two texts, without the tool's own heading, which repeats the names of the lines below it.
func Diff(from string, was []byte, to string, now []byte) string {
	_, text, _ := bytes.Cut(diff.Diff(from, was, to, now), []byte("\n"))
	return string(text)
}
