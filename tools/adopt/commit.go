package adopt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"mongofork/tools/fork/filetree"
)

// tree reads go.mod, go.sum and, if it is vendored, the vendor folder below dir.
func (s *stage) tree(dir string) (filetree.Tree, error) {
	t := filetree.Tree{}
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		t[name] = data
	}
	if !s.vendored {
		return t, nil
	}
	vendor, err := filetree.Read(filepath.Join(dir, "vendor"))
	if err != nil {
		return nil, err
	}
	for name, data := range vendor {
		t["vendor/"+name] = data
	}
	return t, nil
}

// compare returns how the copies differ from what the application has.
func (s *stage) compare() ([]filetree.Diff, error) {
	was, err := s.tree(s.dir)
	if err != nil {
		return nil, err
	}
	now, err := s.tree(s.at)
	if err != nil {
		return nil, err
	}
	return filetree.Compare(was, now), nil
}

// commit replaces the application's files with the copies, and restores all of them if anything goes wrong.
func (s *stage) commit(ctx context.Context) (err error) {
	spare, err := os.MkdirTemp(s.dir, ".mongofork-use-") // on the same volume, and outside of what ./... matches
	if err != nil {
		return err
	}
	var done []func() error
	defer func() {
		if err != nil {
			for i := len(done) - 1; i >= 0; i-- {
				err = errors.Join(err, done[i]())
			}
		}
		err = errors.Join(err, os.RemoveAll(spare))
	}()
	names := []string{"go.sum", "go.mod"}
	if s.vendored {
		names = append(names, "vendor")
	}
	for _, name := range names {
		back, err := s.swap(name, spare)
		if err != nil {
			return err
		}
		done = append(done, back)
	}
	// The go command also checks vendor consistency.
	if _, err := s.goRun(ctx, "list", "-e", "-f", "{{.ImportPath}}", "./..."); err != nil {
		return fmt.Errorf("the change was undone: %w", err)
	}
	return nil
}

// swap puts one copy into the application's folder and returns a function that undoes it.
func (s *stage) swap(name, spare string) (func() error, error) {
	copied, old, place := filepath.Join(spare, name+".new"), filepath.Join(spare, name), filepath.Join(s.dir, name)
	if err := copyAll(filepath.Join(s.at, name), copied); err != nil {
		return nil, err
	}
	had := true
	if err := os.Rename(place, old); errors.Is(err, fs.ErrNotExist) {
		had = false
	} else if err != nil {
		return nil, err
	}
	back := func() error {
		if err := os.RemoveAll(place); err != nil || !had {
			return err
		}
		return os.Rename(old, place)
	}
	if _, err := os.Lstat(copied); errors.Is(err, fs.ErrNotExist) {
		return back, nil // the go command needs no go.sum
	}
	if err := os.Rename(copied, place); err != nil {
		return nil, errors.Join(err, back())
	}
	return back, nil
}

// copyAll copies a file or a folder, if it exists.
func copyAll(from, to string) error {
	info, err := os.Stat(from)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.IsDir():
		return os.CopyFS(to, os.DirFS(from))
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o644)
}
