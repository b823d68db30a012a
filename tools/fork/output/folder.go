// Package output writes what was assembled: the module tree with its manifest, a patch, or a release.
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
	"strings"

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
	// Links are the files, by their path in Dir, of which the files there are hard links: who edits one edits both.
	Links map[string]string
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
	return fmt.Errorf("the output %s cannot be written: %w (make %s writable, or choose another folder with -o)", o.Label, err,
		filepath.Dir(o.Label))
}

// read reads the directory, and reports whether it differs from its manifest. A directory without a manifest is a problem: the builder
// did not make it.
func (o Folder) read() (have filetree.Tree, edited bool, err error) {
	have, err = filetree.Read(o.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil // nothing there: nothing to lose
	}
	if err != nil || len(have) == 0 {
		return have, false, err
	}
	recorded, err := os.ReadFile(o.manifestFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, problem.List{{File: o.Label, Message: "the folder was not made by mongofork: it has no manifest",
			Mend: "move it away, or choose another folder with -o"}}
	}
	return have, o.edits(have, string(recorded)), err
}

// manifest lists the SHA-256 of each file of a tree in the format of sha256sum, so that "sha256sum -c" in the folder checks it.
func manifest(t filetree.Tree) string {
	var b strings.Builder
	for _, path := range t.Paths() {
		fmt.Fprintf(&b, "%s  %s\n", filetree.Digest(t[path]), path)
	}
	return b.String()
}

// Write makes the tree the content of the directory, whole or not at all. An output with edits is refused unless force is set, or the
// tree is just what is there; written is false if the directory had this content already.
func (o Folder) Write(t filetree.Tree, force bool) (written bool, err error) {
	release, err := o.hold()
	if err != nil {
		return false, err
	}
	defer release()
	have, edited, err := o.read()
	if err != nil {
		return false, err
	}
	if edited && !force && !maps.EqualFunc(have, t, bytes.Equal) {
		return false, problem.List{{File: o.Label,
			Message: "the folder has edits that this build lacks (sha256sum --check with its manifest lists them)",
			Mend:    "copy the edits to the overlay, then go run ./tools/cmd/mongofork build --force"}}
	}
	if have != nil && maps.EqualFunc(have, t, bytes.Equal) {
		o.link(o.Dir)
		// An edit that the overlay has by now left an old manifest.
		err = filetree.Replace(o.manifestFile(), []byte(manifest(t)+o.links(o.Dir)))
	} else {
		written, err = true, o.swap(t)
	}
	if err != nil {
		return false, o.unwritable(err)
	}
	return written, nil
}

// swap writes the tree beside the directory and renames it into the place. If it is cut short, the next build finds either tree or
// none; the old one had nothing that this one was not to replace.
func (o Folder) swap(t filetree.Tree) error {
	fresh, old := o.staged("new"), o.staged("old")
	defer os.RemoveAll(fresh)
	if err := t.Write(fresh); err != nil {
		return err
	}
	o.link(fresh)
	if err := os.Rename(o.Dir, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := filetree.Replace(o.manifestFile(), []byte(manifest(t)+o.links(fresh))); err != nil {
		return errors.Join(err, os.Rename(old, o.Dir))
	}
	return errors.Join(os.Rename(fresh, o.Dir), os.RemoveAll(old))
}
