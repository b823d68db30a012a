package plan

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
	"mongofork/tools/fork/upstream"
	"mongofork/tools/strict"
)

// Overlay is what this repository lays over the upstream module.
type Overlay struct {
	// Files are those for the chosen base, in the order of their paths.
	Files []*File
	// Edits are those for the chosen base, in order.
	Edits []Edit
	// Alone has the files and edits of the layers that are not laid with the others.
	Alone *Overlay
	// Bases are the bases of the repository. Each file has to be for one of them, or for the chosen version.
	Bases []string
}

// File is one file of the overlay.
type File struct {
	// Path is the file's path in the output. From is its path in this repository, which differs if the file is in a layer's folder, or
	// if the base has the folder elsewhere.
	Path, From string
	// Layer is the number of the layer that the file belongs to. Layers are laid one after the other.
	Layer int
	Data  []byte
	// Source is nil for files that are not Go source.
	Source *syntax.File
	// Decls are the declarations with their directives.
	Decls []*syntax.Decl
	// Removals are its //fork:remove directives; their keys have no package yet.
	Removals []Touch
}

// FindRoot returns the nearest folder, from the given one upwards, that holds an overlay's configuration.
func FindRoot(start string) (string, error) {
	start, err := filepath.Abs(start)
	if err != nil {
		return "", err
	}
	for at := start; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, filepath.FromSlash(FoldersFile))); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("no %s in %s or above: run this inside the repository", FoldersFile, start)
		}
	}
}

// ReadOverlay reads a repository's overlay as far as it is meant for a version of upstream. Problems are about files that cannot be used.
func ReadOverlay(root string, m *upstream.Module, bases ...string) (*Overlay, problem.List, error) {
	layers, err := ReadLayers(root)
	if err != nil {
		return nil, nil, err
	}
	moved, err := readMoved(root, m.Version)
	if err != nil {
		return nil, nil, err
	}
	all, ps, repository, places := &Overlay{Bases: bases, Alone: &Overlay{}}, problem.List{}, os.DirFS(root), map[string]string{}
	for i, layer := range layers {
		o, places := all, places
		if layer.Alone {
			o, places = all.Alone, map[string]string{}
		}
		if err := o.readEdits(repository, layer, i, m.Version, &ps); err != nil {
			return nil, nil, err
		}
		for _, folder := range layer.Folders {
			err := fs.WalkDir(repository, folder, func(name string, e fs.DirEntry, err error) error {
				base := path.Base(name)
				switch {
				case err != nil:
					return err
				case strings.HasPrefix(base, "."): // editors' and operating systems' own files
				case strings.HasPrefix(base, "_") || base == "go.mod" || !e.IsDir() && !e.Type().IsRegular():
					ps.Add(name, 0, "rename it, put a copy in its place, or move it out of the overlay folders",
						"the go command would leave it out: it is no regular file, a go.mod, or "+
							"has a name that begins with _")
				case e.IsDir():
					return nil
				case layer.place(name) != "":
					data, err := fs.ReadFile(repository, name)
					at, text := inPlace(moved, m.Path, layer.place(name), data)
					f := o.ReadFile(at, text, m.Version, &ps)
					if err != nil || f == nil {
						return err
					}
					if first, taken := places[at]; taken && first == name { // an earlier layer lists the file
						return nil
					} else if taken {
						ps.Add(name, 0, "rename one of them", "%s goes to the same place", first)
						return nil
					}
					f.From, f.Layer, places[at] = name, i, name
					o.Files = append(o.Files, f)
				}
				if e.IsDir() {
					return fs.SkipDir
				}
				return nil
			})
			if err != nil {
				return nil, nil, fmt.Errorf("folder %s of %s: %w", folder, FoldersFile, err)
			}
		}
	}
	slices.SortFunc(all.Files, func(a, b *File) int { return strings.Compare(a.Path, b.Path) })
	return all, ps, nil
}

// At returns problems with the paths that files of the overlay have in the repository, not in the module.
func (o *Overlay) At(ps problem.List) problem.List {
	from := map[string]string{}
	for _, f := range o.Files {
		from[f.Path] = f.From
	}
	for i, p := range ps {
		ps[i].File = cmp.Or(from[p.File], p.File)
	}
	return ps
}

// readMoved reads which folders of the overlay have another path in a base, such as some below x, which upstream calls unstable. If the
// base has no such file, none have. A package keeps its name, by which it is imported.
func readMoved(root, version string) (moved map[string]string, err error) {
	file := filepath.Join("etc", "bases", version, "paths")
	if err := strict.Read(filepath.Join(root, file), &moved); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for here, there := range moved {
		if _, missing := os.Stat(filepath.Join(root, here)); missing != nil || !fs.ValidPath(there) ||
			path.Base(here) != path.Base(there) {
			return nil, fmt.Errorf("%s: %s: give a folder of the overlay, and another that ends with the same name", file, here)
		}
	}
	return moved, nil
}

// inPlace returns where a base has a file of the overlay, and its text with the imports of there.
func inPlace(moved map[string]string, module, name string, data []byte) (string, []byte) {
	for here, there := range moved {
		if file, below := strings.CutPrefix(name, here+"/"); below {
			name = there + "/" + file
		}
		for _, end := range []string{`"`, "/"} {
			data = bytes.ReplaceAll(data, []byte(`"`+module+"/"+here+end), []byte(`"`+module+"/"+there+end))
		}
	}
	if len(moved) == 0 || !syntax.IsGoFile(name) {
		return name, data
	}
	if sorted, err := format.Source(data); err == nil {
		data = sorted
	}
	return name, data
}

// ReadFile reads one overlay file; nil if it is for other bases or unusable.
func (o *Overlay) ReadFile(name string, data []byte, version string, ps *problem.List) *File {
	if !syntax.IsGoFile(name) {
		return &File{Path: name, Data: data}
	}
	source, err := syntax.Parse(name, data)
	if err != nil {
		ps.Add(name, 0, "gofmt -l "+name, "%v", err)
		return nil
	}
	f := &File{Path: name, Data: data, Source: source, Decls: source.Decls}
	if versions := f.readDirectives(ps); !versions.Holds(version) {
		if o.Bases != nil && !slices.ContainsFunc(o.Bases, versions.Holds) {
			ps.Add(name, 0, "correct its //fork:base line, or remove the file", "it is for none of the bases %s",
				strings.Join(o.Bases, ", "))
		}
		return nil
	}
	if !syntax.IsFormatted(data) { // what is spliced into upstream's files keeps its bytes
		ps.Add(name, 0, "gofmt -w "+name, "the file is not gofmt-formatted")
	}
	return f
}

// readDirectives gives the directives of a file to its declarations, and returns the versions of upstream that the file is for. A
// directive that stands in another place is a problem.
func (f *File) readDirectives(ps *problem.List) (versions syntax.BaseRange) {
	docs := map[*ast.CommentGroup]*syntax.Decl{}
	for _, d := range f.Decls {
		for _, doc := range d.Docs() {
			docs[doc] = d
		}
	}
	for _, group := range f.Source.AST.Comments {
		for _, c := range group.List {
			d, ok, err := syntax.ParseDirective(c.Text)
			if !ok {
				continue
			}
			line, target := f.Source.Line(c.Pos()), docs[group]
			switch {
			case err != nil:
				ps.Add(f.Path, line, "write the directive as tools/fork/README.md says", "%v", err)
			case (d.Verb == syntax.Base) != (c.Pos() < f.Source.AST.Package) || d.Verb == syntax.Base && versions != nil:
				ps.Add(f.Path, line, "only //fork:base stands above the package clause, once, and only there",
					"//fork:%s stands in the wrong place", d.Verb)
			case d.Verb == syntax.Base:
				versions = d.Range
			case d.Verb == syntax.Remove:
				f.Removals = append(f.Removals, Touch{How: d.Verb, Key: syntax.Key{Name: d.Target}, Reason: d.Reason,
					File: f.Source, Line: line})
			case target == nil || target.Directive != nil || target.Unnamed() || target.Grouped() || target.Shared > 1:
				ps.Add(f.Path, line, "put it at the end of the doc comment of one package-level declaration, outside of "+
					"parentheses, that has no other", "//fork:%s belongs to no declaration that stands alone", d.Verb)
			default:
				d.Line, target.Directive = line, &d
			}
		}
	}
	return versions
}
