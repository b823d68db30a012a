package plan

import (
	"errors"
	"fmt"
	"go/ast"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
	"mongofork/tools/fork/upstream"
	"mongofork/tools/strict"
)

// Overlay is what this repository lays over the upstream module: its layers, in order.
type Overlay []*Layer

func (o Overlay) Files() (files []*File) {
	for _, layer := range o {
		files = append(files, layer.Files...)
	}
	return files
}

// File is one file of the overlay.
type File struct {
	// Path is the file's path in the output. From is its path in this repository, which differs if the file is in a layer's folder.
	Path, From string
	Data       []byte
	Source     *syntax.File // nil for files that are not Go source
	Decls      []*syntax.Decl
	Touches    []Touch // its directives

	versions syntax.BaseRange
}

// ReadOverlay reads a repository's overlay as far as it is meant for a version of upstream. Each file has to be for that version or for one
// of the bases. A problem.List is about files that cannot be used.
func ReadOverlay(root string, m *upstream.Module, bases ...string) (Overlay, error) {
	layers, err := ReadLayers(root)
	if err != nil {
		return nil, err
	}
	r := reader{repository: os.DirFS(root), module: m, bases: bases}
	together := map[string]string{}
	for _, layer := range layers {
		r.layer, r.places = layer, together
		if layer.Alone {
			r.places = map[string]string{}
		}
		for _, folder := range layer.Folders {
			if err := fs.WalkDir(r.repository, folder, r.read); err != nil {
				return nil, fmt.Errorf("folder %s of %s: %w", folder, FoldersFile, err)
			}
		}
		slices.SortFunc(layer.Files, func(a, b *File) int { return strings.Compare(a.Path, b.Path) })
		if !layer.Below {
			continue // it has no folder of its own
		}
		var places []yaml.Node
		edits := filepath.Join(root, filepath.FromSlash(layer.Name), EditsFile)
		if err := errors.Join(strict.Optional(edits, &layer.Edits), strict.Optional(edits, &places)); err != nil {
			return nil, err
		}
		for i, at := range places {
			layer.Edits[i].Line = at.Line
		}
		layer.Edits = slices.DeleteFunc(layer.Edits, func(e Edit) bool { return !e.Base.Holds(m.Version) })
	}
	return layers, problem.Join(r.problems)
}

// reader reads the files of layers.
type reader struct {
	repository fs.FS
	layer      *Layer
	module     *upstream.Module
	bases      []string
	places     map[string]string // of the files, by their paths in the module
	problems   problem.List
}

// read reads a file of the layer, as an fs.WalkDirFunc.
func (r *reader) read(name string, e fs.DirEntry, err error) error {
	base := path.Base(name)
	switch {
	case err != nil:
		return err
	case strings.HasPrefix(base, "."): // editors' and operating systems' own files
	case strings.HasPrefix(base, "_") || base == "go.mod" || !e.IsDir() && !e.Type().IsRegular():
		r.problems.Add(name, 0, "rename it, put a copy in its place, or move it out of the overlay folders",
			"the go command would leave it out: it is no regular file, a go.mod, or has a name that begins with _")
	case e.IsDir():
		return nil
	case r.layer.place(name) != "":
		data, err := fs.ReadFile(r.repository, name)
		at := r.layer.place(name)
		f := readFile(at, name, data, &r.problems)
		if err != nil || f == nil {
			return err
		}
		first, taken := r.places[at]
		switch {
		case !f.versions.Holds(r.module.Version):
			if r.bases != nil && !slices.ContainsFunc(r.bases, f.versions.Holds) {
				r.problems.Add(name, 0, "correct its //fork:base line, or remove the file",
					"it is for none of the bases %s", strings.Join(r.bases, ", "))
			}
		case !taken:
			r.places[at] = name
			r.layer.Files = append(r.layer.Files, f)
		case first != name: // no earlier layer lists the same file
			r.problems.Add(name, 0, "rename one of them", "%s goes to the same place", first)
		}
		return nil
	}
	if e.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// readFile reads one overlay file; nil if it does not parse.
func readFile(name, from string, data []byte, ps *problem.List) *File {
	f := &File{Path: name, From: from, Data: data}
	if !syntax.IsGoFile(name) {
		return f
	}
	var err error
	if f.Source, err = syntax.Parse(name, data); err != nil {
		ps.Add(from, 0, "gofmt -l "+from, "%v", err)
		return nil
	}
	f.Source.From, f.Decls = from, f.Source.Decls
	f.versions = f.readDirectives(ps)
	return f
}

// touches reports whether a declaration of the file has a directive.
func (f *File) touches(d *syntax.Decl) bool {
	return slices.ContainsFunc(f.Touches, func(t Touch) bool { return t.Ours == d })
}

// readDirectives reads the directives of a file, and returns the versions of upstream that the file is for. A directive that stands in
// another place is a problem.
func (f *File) readDirectives(ps *problem.List) (versions syntax.BaseRange) {
	docs := map[*ast.CommentGroup]*syntax.Decl{}
	for _, d := range f.Decls {
		for _, doc := range d.Docs {
			docs[doc] = d
		}
	}
	for _, group := range f.Source.AST.Comments {
		for _, c := range group.List {
			verb, words, ok, err := syntax.ParseDirective(c.Text)
			if !ok {
				continue
			}
			target, at := docs[group], f.Source.Offset(c.Pos())
			t := Touch{How: verb, File: f.Source, Line: f.Source.Line(c.Pos()), Ours: target}
			begins := at == syntax.LineStart(f.Source.Src, at) // its line
			switch {
			case err != nil:
				ps.Add(f.From, t.Line, "write the directive as tools/fork/README.md says", "%v", err)
			case (verb == syntax.Base) != (c.Pos() < f.Source.AST.Package) || verb == syntax.Base && versions != nil:
				ps.Add(f.From, t.Line, "only //fork:base stands above the package clause, once, and only there",
					"//fork:%s stands in the wrong place", verb)
			case verb == syntax.Base:
				versions = words
			case verb == syntax.Remove && begins:
				t.Key, t.Ours = syntax.Key{Package: f.Source.Package(), Name: words[0]}, nil
				f.Touches = append(f.Touches, t)
			case target == nil || !begins || f.touches(target) || target.Unnamed() || target.Grouped() || target.Shared > 1:
				ps.Add(f.From, t.Line, "put it at the end of the doc comment of one package-level declaration, outside of "+
					"parentheses, that has no other", "//fork:%s belongs to no declaration that stands alone", verb)
			default:
				if t.Key = target.Key; verb == syntax.Wrap {
					t.Wrapped = UpstreamName(target.Bare())
				}
				f.Touches = append(f.Touches, t)
			}
		}
	}
	return versions
}

// FoldersFile lists a repository's layers.
const FoldersFile = "etc/overlay"

// Layer is a set of files that is laid over a module at once. Either it consists of folders that have the same paths in the module, or it
// is one folder that contains such paths, such as layers/fixes/pool with layers/fixes/pool/x/mongo/driver.
type Layer struct {
	Name    string   // that of the folder, or what the list calls the folders
	Folders []string // where the files are
	Alone   bool     // true for a layer that is not part of the fork, such as a fix for upstream of code that the fork replaces
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
// every folder below fixes that the list does not name, each of which is one; with a minus, they are not part of the fork. The other
// folders after "name:", or at the beginning, form one layer.
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

// Edit changes a function at one place. The names that stand there tell the place, so that nothing of upstream's text is repeated.
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
