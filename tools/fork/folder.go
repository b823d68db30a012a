package fork

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/lockedfile"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/problem"
)

// Folder is a directory that the builder owns. Beside it, so that no module zip contains it, lies a manifest of what the builder wrote.
type Folder struct {
	// Dir is the directory.
	Dir string
	// Links are the files, by their path in Dir, of which the files there are hard links: who edits one edits both. Unlike symbolic
	// ones they need no rights anywhere, and go mod vendor copies them.
	Links map[string]string
}

// Folder returns a folder below the repository's folder build.
func (p *Project) Folder(below ...string) Folder {
	return Folder{Dir: filepath.Join(p.Root, "build", filepath.Join(below...))}
}

// written is a line of the manifest, in the format of sha256sum, linked one about a file that is a link.
func written(path string, data []byte) string { return filetree.Digest(data) + "  " + path }
func linked(path string) string               { return "# link " + path }

// Write makes the tree the content of the directory. If that would lose edits nothing is written; changed is false if the directory had
// this content already. After a run that was cut short the next one makes the same.
func (o Folder) Write(t filetree.Tree) (changed bool, err error) {
	if err := os.MkdirAll(filepath.Dir(o.Dir), 0o755); err != nil {
		return false, err
	}
	release, err := lockedfile.MutexAt(o.Dir + ".mutex").Lock()
	if err != nil {
		return false, err
	}
	defer release()
	have, err := filetree.Read(o.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	before, err := os.ReadFile(o.Dir + ".manifest")
	switch {
	case len(have) > 0 && errors.Is(err, fs.ErrNotExist):
		return false, problem.List{{File: o.Dir, Message: "the folder was not made by mongofork: it has no manifest",
			Mend: "move it away"}}
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return false, err
	}
	differ, known := filetree.Changed(have, t), map[string]bool{}
	for line := range strings.Lines(string(before)) {
		known[strings.TrimSpace(line)] = true
	}
	for _, path := range differ {
		if data, exists := have[path]; exists && o.edited(path, data, known) {
			return false, problem.List{{File: o.Dir, Message: "the folder has edits that this build lacks, such as " + path,
				Mend: "copy the edits to the overlay, remove the folder, and run the command again"}}
		}
	}
	return len(differ) > 0, o.write(t, differ, known)
}

// edited reports whether a file is neither what was written, nor what its source is or was before it became another file, for instance
// in another branch.
func (o Folder) edited(path string, data []byte, known map[string]bool) bool {
	if known[written(path, data)] {
		return false
	}
	file, err := os.Stat(o.file(path))
	if err != nil || !known[linked(path)] {
		return true
	}
	source, err := os.Stat(o.Links[path])
	return err == nil && !os.SameFile(file, source) && !file.ModTime().Before(source.ModTime())
}

func (o Folder) file(path string) string { return filepath.Join(o.Dir, filepath.FromSlash(path)) }

// write writes the files that differ. Until it is done the manifest knows both the old and the new ones.
func (o Folder) write(t filetree.Tree, differ []string, known map[string]bool) error {
	now := map[string]bool{}
	for path, data := range t {
		now[written(path, data)] = true
	}
	maps.Copy(known, now)
	if err := o.record(known); err != nil {
		return err
	}
	for _, path := range differ {
		if err := t.Put(o.Dir, path, ""); err != nil {
			return err
		}
	}
	for path, source := range o.Links {
		if link(source, o.file(path)) {
			now[linked(path)] = true
		}
	}
	return o.record(now)
}

// record writes the manifest.
func (o Folder) record(lines map[string]bool) error {
	return filetree.Replace(o.Dir+".manifest", []byte(strings.Join(slices.Sorted(maps.Keys(lines)), "\n")+"\n"))
}

// link makes a file the same as its source. What cannot be linked, for instance because it is on another volume, stays a copy.
func link(source, name string) bool {
	a, errA := os.Stat(source)
	b, errB := os.Stat(name)
	if errors.Join(errA, errB) == nil && os.SameFile(a, b) {
		return true
	}
	staged := name + ".link"
	defer os.Remove(staged)
	return os.Link(source, staged) == nil && os.Rename(staged, name) == nil
}
