package fork

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/lockedfile"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/problem"
)

// Folder is a directory that the builder owns. A manifest of what the builder wrote lies beside it, so that no module zip contains it.
type Folder struct {
	Dir string // the directory
	// Links are files in Dir that are hard links to files elsewhere, so that editing one edits both. Unlike symbolic links they need no
	// rights on any system, and go mod vendor copies them.
	Links map[string]string
}

// Folder returns a folder below the repository's folder build.
func (p *Project) Folder(below ...string) Folder {
	return Folder{Dir: filepath.Join(p.Root, "build", filepath.Join(below...))}
}

// written is a line of the manifest, in the format of sha256sum, linked one about a file that is a link.
func written(path string, data []byte) string { return filetree.Digest(data) + "  " + path }
func linked(path string) string               { return "# link " + path }

// Write makes the tree the content of the directory. It writes nothing if that would lose edits. changed is false if the directory already
// had this content. If a run is interrupted, the next run completes it.
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
	before, manifestErr := os.ReadFile(o.Dir + ".manifest")
	for _, err := range []error{err, manifestErr} {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
	}
	if len(have) > 0 && manifestErr != nil {
		return false, problem.One(o.Dir, "move it away", "the folder was not made by mongofork: it has no manifest")
	}
	differ, known := filetree.Changed(have, t), map[string]bool{}
	for line := range strings.Lines(string(before)) {
		known[strings.TrimSpace(line)] = true
	}
	for _, path := range differ {
		if data, exists := have[path]; exists && o.edited(path, data, known) {
			return false, problem.One(o.Dir, "copy the edits to the overlay, remove the folder, and run the command again",
				"the folder has edits that this build lacks, such as %s", path)
		}
	}
	for _, path := range differ {
		if err := t.Put(o.Dir, path); err != nil {
			return false, err
		}
	}
	var lines []string
	for path, data := range t {
		lines = append(lines, written(path, data))
	}
	for path, source := range o.Links {
		if link(source, o.file(path)) {
			lines = append(lines, linked(path))
		}
	}
	slices.Sort(lines)
	return len(differ) > 0, filetree.Replace(o.Dir+".manifest", []byte(strings.Join(lines, "\n")+"\n"))
}

// edited reports whether somebody has edited a file: whether it differs from what was written, from its source, and from what its source
// was before it became another file, for instance in another branch.
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

// link makes a file a hard link to its source. If that is impossible, for instance because the source is on another volume, it stays a
// copy.
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
