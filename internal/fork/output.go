package fork

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// Output is a directory that the builder owns, with its manifest beside it
// (so that no module zip contains it).
type Output struct {
	// Dir is the directory.
	Dir string
	// Label is how messages name Dir.
	Label string
}

func (o Output) manifestFile() string { return o.Dir + ".manifest" }

// staged names something beside Dir that lives only while Dir is swapped.
func (o Output) staged(what string) string {
	return filepath.Join(filepath.Dir(o.Dir), "."+filepath.Base(o.Dir)+"."+what)
}

// hold makes the caller the only one to work on the output. It fails where the
// parent folder cannot be written to.
func (o Output) hold() (release func(), err error) {
	if err := os.MkdirAll(filepath.Dir(o.Dir), 0o755); err != nil {
		return nil, o.unwritable(err)
	}
	release, err = lockedfile.MutexAt(o.staged("mutex")).Lock()
	if err != nil {
		return nil, o.unwritable(err)
	}
	if err := o.recover(); err != nil {
		release()
		return nil, o.unwritable(err)
	}
	return release, nil
}

func (o Output) unwritable(err error) error {
	return fmt.Errorf("the output %s cannot be written: %w (make %s writable, or choose another folder with -o)", o.Label, err, filepath.Dir(o.Label))
}

// recover brings an interrupted swap to an end: forward if the new tree is in
// place, else back to the old one. The caller holds the output, so whatever is
// staged belongs to a dead run.
func (o Output) recover() error {
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

func (o Output) removeStaged() error {
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

// state reads the directory and compares it with its manifest. A directory
// without a manifest is a problem: the builder did not make it.
func (o Output) state() (Tree, map[string]Change, error) {
	m, known, err := readManifest(o.manifestFile())
	if err != nil {
		return nil, nil, err
	}
	tree, err := ReadTree(o.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil // nothing there: nothing to lose
	case err != nil:
		return nil, nil, err
	case !known && len(tree) > 0:
		return nil, nil, Problems{{File: o.Label, Message: "the folder was not made by mongofork: it has no manifest", Mend: "move it away, or choose another folder with -o"}}
	}
	return tree, m.changes(tree), nil
}

// Write makes the tree the content of the directory, whole or not at all. An
// output with edits that the tree lacks is refused unless force is set; written
// is false if the directory had this content already.
func (o Output) Write(t Tree, force bool) (written bool, err error) {
	release, err := o.hold()
	if err != nil {
		return false, err
	}
	defer release()
	have, changes, err := o.state()
	if err != nil {
		return false, err
	}
	if !force {
		if err := o.unextracted(have, t, changes); err != nil {
			return false, err
		}
	}
	manifest := t.manifest().Format()
	if have != nil && maps.EqualFunc(have, t, bytes.Equal) {
		return false, o.refreshManifest(manifest)
	}
	if err := o.swap(t, manifest); err != nil {
		return false, o.unwritable(err)
	}
	return true, nil
}

// unextracted reports as problems the edits that writing t would destroy.
func (o Output) unextracted(have, t Tree, changes map[string]Change) error {
	var ps Problems
	for _, p := range sortedKeys(changes) {
		was, is := have[p]
		will, stays := t[p]
		if is != stays || !bytes.Equal(was, will) {
			mend := "go run ./cmd/mongofork extract to keep it, or go run ./cmd/mongofork build --force to drop it"
			if changes[p] == Deleted {
				mend = "go run ./cmd/mongofork build --force to restore it"
			}
			ps.add(o.Label+"/"+p, 0, mend, "%s since it was built", changes[p])
		}
	}
	return ps.orNil()
}

// refreshManifest writes the manifest if it differs: after an extraction the
// directory is right, and only the manifest is old.
func (o Output) refreshManifest(manifest []byte) error {
	if have, err := os.ReadFile(o.manifestFile()); err == nil && bytes.Equal(have, manifest) {
		return nil
	}
	if err := writeFile(o.manifestFile(), manifest); err != nil {
		return o.unwritable(err)
	}
	return nil
}

// swap writes the tree beside the directory and then renames. Whenever it is
// cut short, recover finds the old or the new tree complete.
func (o Output) swap(t Tree, manifest []byte) error {
	fresh := o.staged("new")
	if err := t.write(fresh); err != nil {
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

// Clean removes what the manifest says the builder wrote, the folders that
// become empty, and the manifest. Edited files are refused unless force is
// set; foreign files always stay.
func (o Output) Clean(force bool) (removed int, err error) {
	if _, err := os.Stat(filepath.Dir(o.Dir)); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	release, err := o.hold()
	if err != nil {
		return 0, err
	}
	defer release()
	_, changes, err := o.state()
	if err != nil {
		return 0, err
	}
	var ps Problems
	for _, p := range sortedKeys(changes) {
		if changes[p] == Edited && !force {
			ps.add(o.Label+"/"+p, 0, "go run ./cmd/mongofork extract to keep it, or go run ./cmd/mongofork clean --force to drop it", "%s since it was built", changes[p])
		}
	}
	if err := ps.orNil(); err != nil {
		return 0, err
	}
	m, known, err := readManifest(o.manifestFile())
	if err != nil || !known {
		return 0, err
	}
	return o.remove(m)
}

func (o Output) remove(m Manifest) (removed int, err error) {
	folders := map[string]bool{o.Dir: true}
	for p := range m {
		name := filepath.Join(o.Dir, filepath.FromSlash(p))
		if err := os.Remove(name); err == nil {
			removed++
		} else if !errors.Is(err, fs.ErrNotExist) {
			return removed, err
		}
		for dir := filepath.Dir(name); len(dir) > len(o.Dir); dir = filepath.Dir(dir) {
			folders[dir] = true
		}
	}
	deepestFirst := sortedKeys(folders)
	slices.SortStableFunc(deepestFirst, func(a, b string) int {
		return strings.Count(b, string(filepath.Separator)) - strings.Count(a, string(filepath.Separator))
	})
	for _, dir := range deepestFirst {
		// A folder that is not empty holds foreign files; it stays.
		_ = os.Remove(dir)
	}
	return removed, os.Remove(o.manifestFile())
}
