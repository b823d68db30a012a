package output

import (
	"errors"
	"io/fs"
	"os"

	"mongofork/tools/fork/filetree"
)

// swap writes the tree beside the directory and then renames. Whenever it is
// cut short, recover finds the old or the new tree complete.
func (o Folder) swap(t filetree.Tree, manifest []byte) error {
	fresh := o.staged("new")
	if err := t.Write(fresh); err != nil {
		return errors.Join(err, o.removeStaged())
	}
	if err := os.WriteFile(o.staged("manifest"), manifest, 0o644); err != nil {
		return errors.Join(err, o.removeStaged())
	}
	if err := renameIfExists(o.Dir, o.staged("old")); err != nil {
		return errors.Join(err, o.removeStaged())
	}
	if err := os.Rename(fresh, o.Dir); err != nil {
		return errors.Join(err, os.Rename(o.staged("old"), o.Dir), o.removeStaged())
	}
	if err := os.Rename(o.staged("manifest"), o.manifestFile()); err != nil {
		return err
	}
	return o.removeStaged()
}

// recover finishes an interrupted swap: forward if the new tree is in place,
// else back to the old one. The caller holds the output, so whatever is staged
// belongs to a dead run.
func (o Folder) recover() error {
	next, old := o.staged("manifest"), o.staged("old")
	_, err := os.Stat(o.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := renameIfExists(old, o.Dir); err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		// Dir and its predecessor side by side: the new tree is complete.
		if _, err := os.Stat(old); err == nil {
			if err := renameIfExists(next, o.manifestFile()); err != nil {
				return err
			}
		}
	}
	return o.removeStaged()
}

func (o Folder) removeStaged() error {
	var errs []error
	for _, what := range []string{"new", "manifest", "old"} {
		errs = append(errs, os.RemoveAll(o.staged(what)))
	}
	return errors.Join(errs...)
}

func renameIfExists(from, to string) error {
	if err := os.Rename(from, to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
