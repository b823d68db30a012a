package plan

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
)

// Overlay is what this repository lays over the upstream module.
type Overlay struct {
	// Files are the files for the chosen base, in the order of their paths.
	Files []*File
}

// File is one file of the overlay.
type File struct {
	// Path is the same in this repository and in the output.
	Path string
	Data []byte
	// Source is nil for files that are not Go source.
	Source *syntax.File
	// Decls are the declarations with their directives.
	Decls []*Decl
	// Removals are its //fork:remove directives.
	Removals []Removal
}

// Decl is a declaration of ours.
type Decl struct {
	*syntax.Decl
	// Directive says how an upstream declaration is touched; nil if the
	// declaration is new.
	Directive *syntax.Directive
	// Line is where the directive, or the declaration, stands.
	Line int
}

// Removal is a //fork:remove directive.
type Removal struct {
	Target, Reason string
	File           *syntax.File
	Line           int
}

// ReadOverlay reads the overlay folders below fsys as far as they are meant
// for version. Problems are about files that cannot be used.
func ReadOverlay(fsys fs.FS, version string, folders []string) (*Overlay, problem.List, error) {
	o := &Overlay{}
	var ps problem.List
	for _, folder := range folders {
		err := fs.WalkDir(fsys, folder, func(name string, e fs.DirEntry, err error) error {
			if err != nil || !accepts(name, e, &ps) {
				return skipDir(e, err)
			}
			data, err := fs.ReadFile(fsys, name)
			if err != nil {
				return err
			}
			if f := o.ReadFile(name, data, version, &ps); f != nil {
				o.Files = append(o.Files, f)
			}
			return nil
		})
		if errors.Is(err, fs.ErrNotExist) {
			ps.Add(FoldersFile, 0, "create the folder or remove the line", "overlay folder %s does not exist", folder)
			continue
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return o, ps, nil
}

// accepts reports whether a directory entry is a file to read. Files that the
// go command or a module zip would drop silently are problems.
func accepts(name string, e fs.DirEntry, ps *problem.List) bool {
	base := path.Base(name)
	switch {
	case strings.HasPrefix(base, "."):
		return false // editors' and operating systems' own files
	case strings.HasPrefix(base, "_"):
		ps.Add(name, 0, "rename it, or move it out of the overlay folders", "the go command ignores names that begin with _")
	case e.IsDir():
	case !e.Type().IsRegular():
		ps.Add(name, 0, "replace it with a copy", "not a regular file; module zips and go mod vendor drop it")
	case base == "go.mod" || base == "go.work":
		ps.Add(name, 0, "remove the file", "a nested module would not be part of the fork")
	default:
		return true
	}
	return false
}

// skipDir makes a walk leave out directories whose names were refused.
func skipDir(e fs.DirEntry, err error) error {
	if err == nil && e.IsDir() && strings.IndexAny(path.Base(e.Name()), "._") == 0 && e.Name() != "." {
		return fs.SkipDir
	}
	return err
}

// ReadFile reads one overlay file; nil if it is for other bases or unusable.
func (*Overlay) ReadFile(name string, data []byte, version string, ps *problem.List) *File {
	if !syntax.IsGoFile(name) {
		return &File{Path: name, Data: data}
	}
	source, err := syntax.Parse(name, data)
	if err != nil {
		ps.Add(name, 0, "gofmt -l "+name, "%v", err)
		return nil
	}
	f := &File{Path: name, Data: data, Source: source}
	if !f.readDirectives(ps).Holds(version) {
		return nil
	}
	// Splicing keeps bytes as they are, so only a formatted overlay gives a
	// formatted output.
	if !syntax.IsFormatted(data) {
		ps.Add(name, 0, "gofmt -w "+name, "the file is not gofmt-formatted")
	}
	return f
}

// At returns "file:line" of the directive.
func (r Removal) At() string { return fmt.Sprintf("%s:%d", r.File.Path, r.Line) }
