package output

import (
	"maps"
	"os"
	"path/filepath"
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

// edits reports whether what is in the directory is neither what was recorded of it nor a source.
func (o Folder) edits(have filetree.Tree, recorded string) bool {
	known := map[string]string{}
	for line := range strings.Lines(recorded) {
		digest, path, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		known[path] = digest
	}
	found := make(map[string]string, len(have))
	for path, data := range have {
		found[path] = filetree.Digest(data)
		if source, ok := o.Links[path]; ok && same(filepath.Join(o.Dir, filepath.FromSlash(path)), source) {
			known[path] = found[path]
		}
	}
	return !maps.Equal(found, known)
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
