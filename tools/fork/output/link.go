package output

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mongofork/tools/fork/filetree"
)

// link makes files of a directory the same files as their sources. Hard links, unlike symbolic ones, need no rights anywhere, and go
// mod vendor copies them. What cannot be linked, for instance because it is on another volume, stays a copy.
func (o Folder) link(dir string) {
	for path, source := range o.Links {
		name := filepath.Join(dir, filepath.FromSlash(path))
		if same(name, source) {
			continue
		}
		staged := name + ".link"
		if os.Link(source, staged) == nil && os.Rename(staged, name) != nil {
			_ = os.Remove(staged)
		}
	}
}

// linked begins the comments of a manifest that name links.
const linked = "# link "

// links lists the files of a directory that are links.
func (o Folder) links(dir string) string {
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(o.Links)) {
		if same(filepath.Join(dir, filepath.FromSlash(path)), o.Links[path]) {
			b.WriteString(linked + path + "\n")
		}
	}
	return b.String()
}

// edits reports whether what is in the directory is neither what was recorded of it, nor what its sources are or were.
func (o Folder) edits(have filetree.Tree, recorded string) bool {
	known, found := map[string]string{}, make(map[string]string, len(have))
	for path, data := range have {
		found[path] = filetree.Digest(data)
	}
	for line := range strings.Lines(recorded) {
		line = strings.TrimSuffix(line, "\n")
		if path, ok := strings.CutPrefix(line, linked); !ok {
			digest, path, _ := strings.Cut(line, "  ")
			known[path] = digest
		} else if _, exists := found[path]; exists && o.wasSource(path) {
			known[path] = found[path]
		}
	}
	return !maps.Equal(found, known)
}

// wasSource reports whether a file that was linked has not been edited since its source became another file, for instance in another
// branch.
func (o Folder) wasSource(path string) bool {
	source, err := os.Stat(o.Links[path])
	if err != nil {
		return true // the overlay has it no more
	}
	file, err := os.Stat(filepath.Join(o.Dir, filepath.FromSlash(path)))
	return err == nil && (os.SameFile(file, source) || file.ModTime().Before(source.ModTime()))
}

// same reports whether two names are those of one file.
func same(name, other string) bool {
	a, err := os.Stat(name)
	if err != nil {
		return false
	}
	b, err := os.Stat(other)
	return err == nil && os.SameFile(a, b)
}
