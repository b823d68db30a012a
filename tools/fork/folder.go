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
type Folder struct{ Dir string }

// Folder returns a folder below the repository's folder build.
func (p *Project) Folder(below ...string) Folder {
	return Folder{Dir: filepath.Join(p.Root, "build", filepath.Join(below...))}
}

// written is a line of the manifest, in the format of sha256sum.
func written(path string, data []byte) string { return filetree.Digest(data) + "  " + path }

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
		if data, exists := have[path]; exists && !known[written(path, data)] {
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
	slices.Sort(lines)
	return len(differ) > 0, filetree.Replace(o.Dir+".manifest", []byte(strings.Join(lines, "\n")+"\n"))
}
