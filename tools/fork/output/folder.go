package output

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/rogpeppe/go-internal/lockedfile"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/problem"
)

// Folder is a directory that the builder owns, with its manifest beside it
// (so that no module zip contains it).
type Folder struct {
	// Dir is the directory.
	Dir string
	// Label is how messages name Dir.
	Label string
}

// Below returns a folder below the folder build of a repository.
func Below(root string, folders ...string) Folder {
	label := path.Join("build", path.Join(folders...))
	return Folder{Dir: filepath.Join(root, filepath.FromSlash(label)), Label: label}
}

func (o Folder) manifestFile() string { return o.Dir + ".manifest" }

// staged names something beside Dir that lives only while Dir is swapped.
func (o Folder) staged(what string) string {
	return filepath.Join(filepath.Dir(o.Dir), "."+filepath.Base(o.Dir)+"."+what)
}

// hold gives the caller exclusive use of the output. It fails if the parent
// folder is not writable.
func (o Folder) hold() (release func(), err error) {
	if err := os.MkdirAll(filepath.Dir(o.Dir), 0o755); err != nil {
		return nil, o.unwritable(err)
	}
	release, err = lockedfile.MutexAt(o.staged("mutex")).Lock()
	if err != nil {
		return nil, o.unwritable(err)
	}
	// Of a run that was cut short.
	return release, errors.Join(os.RemoveAll(o.staged("new")), os.RemoveAll(o.staged("old")))
}

func (o Folder) unwritable(err error) error {
	return fmt.Errorf("the output %s cannot be written: %w (make %s writable, or choose another folder with -o)", o.Label, err, filepath.Dir(o.Label))
}

// state reads the directory and compares it with its manifest. A directory
// without a manifest is a problem: the builder did not make it.
func (o Folder) state() (filetree.Tree, map[string]Change, error) {
	m, known, err := readManifest(o.manifestFile())
	if err != nil {
		return nil, nil, err
	}
	tree, err := filetree.Read(o.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil // nothing there: nothing to lose
	case err != nil:
		return nil, nil, err
	case !known && len(tree) > 0:
		return nil, nil, problem.List{{File: o.Label, Message: "the folder was not made by mongofork: it has no manifest", Mend: "move it away, or choose another folder with -o"}}
	}
	return tree, m.changes(tree), nil
}

// Write makes the tree the content of the directory, whole or not at all. An
// output with edits that the tree lacks is refused unless force is set; written
// is false if the directory had this content already.
func (o Folder) Write(t filetree.Tree, force bool) (written bool, err error) {
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
	manifest := manifestOf(t).Format()
	if have != nil && maps.EqualFunc(have, t, bytes.Equal) {
		// After an extraction the directory is right, and only the manifest is old.
		err = filetree.Replace(o.manifestFile(), manifest)
	} else {
		written, err = true, o.swap(t, manifest)
	}
	if err != nil {
		return false, o.unwritable(err)
	}
	return written, nil
}

// swap writes the tree beside the directory and renames it into the place. If it is cut short, the next build finds either tree or
// none; the old one had nothing that this one was not to replace.
func (o Folder) swap(t filetree.Tree, manifest []byte) error {
	fresh, old := o.staged("new"), o.staged("old")
	defer os.RemoveAll(fresh)
	if err := t.Write(fresh); err != nil {
		return err
	}
	if err := os.Rename(o.Dir, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := filetree.Replace(o.manifestFile(), manifest); err != nil {
		return errors.Join(err, os.Rename(old, o.Dir))
	}
	return errors.Join(os.Rename(fresh, o.Dir), os.RemoveAll(old))
}

// unextracted reports as problems the edits that writing t would destroy.
func (o Folder) unextracted(have, t filetree.Tree, changes map[string]Change) error {
	var ps problem.List
	for _, p := range slices.Sorted(maps.Keys(changes)) {
		was, is := have[p]
		will, stays := t[p]
		if is != stays || !bytes.Equal(was, will) {
			mend := "go run ./tools/cmd/mongofork extract to keep it, or go run ./tools/cmd/mongofork build --force to drop it"
			if changes[p] == Deleted {
				mend = "go run ./tools/cmd/mongofork build --force to restore it"
			}
			ps.Add(o.Label+"/"+p, 0, mend, "%s since it was built", changes[p])
		}
	}
	return ps.OrNil()
}
