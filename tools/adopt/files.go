package adopt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"mongofork/tools/fork/filetree"
)

// modules is the list without which the go command refuses a vendor folder.
const modules = "vendor/modules.txt"

var texts = []string{"go.mod", "go.sum"}

// commit makes the change in the application's folder. After use it checks that the fork is in effect there, with the present environment.
// If the fork is not in effect, nothing changes.
func (c *Change) commit(ctx context.Context) error {
	now, err := tree(c.Dir, c.vendored)
	if err != nil {
		return err
	}
	if changed := filetree.Changed(c.Before, now); len(changed) > 0 {
		return fmt.Errorf("%s was changed by somebody else meanwhile: run this again", filepath.Join(c.Dir, changed[0]))
	}
	err = c.put(c.After)
	if err == nil && c.Base != "" {
		if c.Effect, _, err = c.check(ctx, ""); err != nil && c.work != "" {
			err = fmt.Errorf("%w: the workspace %s decides", err, c.work)
		}
		if err != nil {
			err = fmt.Errorf("the fork would not be in effect: %w", err)
		}
	}
	if err != nil {
		err = errors.Join(err, c.put(c.Before))
	}
	return err
}

// Paths returns the files that change, in order.
func (c *Change) Paths() []string { return filetree.Changed(c.Before, c.After) }

// Diff compares the lines of a file before and after, whatever ends them.
func (c *Change) Diff(path string) string {
	return filetree.Diff("a/"+path, unixLines(c.Before[path]), "b/"+path, unixLines(c.After[path]))
}

func unixLines(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")) }

// put makes the files that change what they are in a tree; what becomes a folder has to go first. A link that leads to the vendor folder
// stays.
func (c *Change) put(t filetree.Tree) (err error) {
	for _, stay := range []bool{false, true} {
		for _, path := range c.Paths() {
			data, stays := t[path]
			if stays != stay {
				continue
			}
			dir, name := c.Dir, path
			if below, is := strings.CutPrefix(path, "vendor/"); is {
				dir, name = realFolder(filepath.Join(c.Dir, "vendor")), below
			}
			one := filetree.Tree{}
			if stays {
				one[name] = data
			}
			err = errors.Join(err, one.Put(dir, name))
		}
	}
	return err
}

// foreign fails for a folder of the fork's own repository: whoever names one starts the go command there, and means another.
func (a Application) foreign() error {
	inside, err := filepath.Rel(realFolder(a.Project.Root), realFolder(a.Dir))
	if err != nil || inside == ".." || strings.HasPrefix(inside, ".."+string(filepath.Separator)) {
		return nil
	}
	return fmt.Errorf("%s is in the fork's own repository, %s: name the folder of the application instead, such as use ../app, "+
		"relative to the folder that go -C names, or with its full path", a.Dir, a.Project.Root)
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
