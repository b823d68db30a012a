package plan

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mongofork/tools/fork/syntax"
)

// FoldersFile lists a repository's layers.
const FoldersFile = "etc/overlay"

// Layer is a set of files that is laid over a module at once. Either it consists of folders that have the same paths in the module, or it
// is one folder that contains such paths, such as layers/fixes/pool with layers/fixes/pool/x/mongo/driver.
type Layer struct {
	// Name is that of the folder, or what the list calls the folders.
	Name string
	// Folders have the files.
	Folders []string
	// Alone is true for a layer that is not part of the fork, such as a fix for upstream of code that the fork replaces.
	Alone bool
	// Below is true if the module's paths begin below the folder. Files in the folder itself, such as its README, are not part of the
	// module.
	Below bool

	// Files are those for a version of upstream, in the order of their paths, and Edits those of EditsFile. ReadOverlay reads them.
	Files []*File
	Edits []Edit
}

// sharedFile is the file of a layer that is not laid with the others in which it names files of theirs that it has, too, by their paths in
// the repository.
const sharedFile = "files"

// place returns the path of a layer's file in the module; empty if the file is not part of it.
func (l *Layer) place(name string) string {
	top, _, _ := strings.Cut(l.Name, "/")
	if !l.Below || !strings.HasPrefix(name, top+"/") {
		return name
	}
	own := strings.Count(l.Name, "/") + 1 // the segments of a layer's name, this one's or another's
	parts := strings.SplitN(name, "/", own+1)
	if last := parts[len(parts)-1]; strings.Contains(last, "/") {
		return last
	}
	return ""
}

// ReadLayers reads the list of layers, in the order in which they are laid. In the list, fixes/pool/ is a layer, and fixes/* stands for
// every folder below fixes that the list does not name, each of which is one; with a minus, they are not part of the fork. The other folders after "name:", or at the
// beginning, form one layer.
func ReadLayers(root string) (layers []*Layer, err error) {
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(FoldersFile)))
	if err != nil {
		return nil, err
	}
	var words []string
	for line := range strings.Lines(string(data)) {
		line, _, _ = strings.Cut(line, "#")
		words = append(words, strings.Fields(line)...)
	}
	open := false // the last layer takes more folders
	for _, word := range words {
		if strings.HasSuffix(word, "/") || strings.HasSuffix(word, "/*") {
			below, err := layersBelow(root, strings.TrimSuffix(word, "/"), words)
			if err != nil {
				return nil, err
			}
			layers, open = append(layers, below...), false
			continue
		}
		name, named := strings.CutSuffix(word, ":")
		if named || !open {
			layers, open = append(layers, &Layer{Name: name}), true
		}
		if last := layers[len(layers)-1]; !named {
			last.Folders = append(last.Folders, word)
		}
	}
	return layers, nil
}

// layersBelow returns the layers whose folders match a pattern; none if they were removed.
func layersBelow(root, pattern string, list []string) (layers []*Layer, err error) {
	pattern, alone := strings.CutPrefix(pattern, "-")
	names, err := fs.Glob(os.DirFS(root), pattern)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if name != pattern && slices.Contains(list, name+"/") {
			continue
		}
		if folder, err := os.Stat(filepath.Join(root, filepath.FromSlash(name))); err == nil && folder.IsDir() {
			shared, _ := os.ReadFile(filepath.Join(root, filepath.FromSlash(name), sharedFile)) // most have none
			folders := append([]string{name}, strings.Fields(string(shared))...)
			layers = append(layers, &Layer{Name: name, Folders: folders, Alone: alone, Below: true})
		}
	}
	return layers, nil
}

// Edit changes a function at one place. The place is told by the names that stand there, so that nothing of upstream's text is repeated.
type Edit struct {
	// Base is the range of upstream's versions that it is for; all, if there is none.
	Base syntax.BaseRange `yaml:"base"`
	// In is the function's key.
	In syntax.Key `yaml:"in"`
	// At is a place: "statement", "return", "call" or "condition", or the "comment" above a statement; then all names that stand
	// there; then, if there are several such places, "#" and which of them.
	At string `yaml:"at"`
	// Instead is put in its place, with what stood there for each "…"; Move is the statement before which it comes.
	Instead string `yaml:"instead"`
	Move    string `yaml:"move"`
	// Line is where it stands in EditsFile.
	Line int `yaml:"-"`
}

// EditsFile is the file of a layer with its edits. They are made after what the layer's files do.
const EditsFile = "edits.yaml"
