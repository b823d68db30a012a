package fork

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Package holds the declarations of one folder of the module.
type Package struct {
	// Folder is relative to the module's root.
	Folder string
	// Name is the package clause of the folder's library files; empty when
	// the folder holds only other files.
	Name  string
	Files []*SourceFile
	// decls maps a key to its declarations: several where files with
	// different build constraints declare the same name.
	decls map[Key][]*Decl
}

// Package parses the Go files of a folder. A folder that the module lacks
// gives an empty package.
func (m *Module) Package(folder string) (*Package, error) {
	if p, ok := m.packages[folder]; ok {
		return p, nil
	}
	p := &Package{Folder: folder, decls: map[Key][]*Decl{}}
	for _, name := range m.Tree.Paths() {
		if path.Dir(name) != folder || !isGoFile(name) {
			continue
		}
		file, err := parseSource(name, m.Tree[name])
		if err != nil {
			return nil, fmt.Errorf("upstream's %s: %w", name, err)
		}
		p.Files = append(p.Files, file)
	}
	p.Name = libraryName(p.Files)
	for _, file := range p.Files {
		pkg, ok := p.packageOf(file)
		if !ok {
			continue // a program or an example that go build leaves out
		}
		for _, d := range file.Decls {
			d.Key.Package = pkg
			if !d.unnamed() {
				p.decls[d.Key] = append(p.decls[d.Key], d)
			}
		}
	}
	if m.packages == nil {
		m.packages = map[string]*Package{}
	}
	m.packages[folder] = p
	return p, nil
}

// libraryName returns the package clause that most files have. Files that go
// build leaves out (programs run by go generate) count only where there is
// nothing else.
func libraryName(files []*SourceFile) string {
	built := slices.DeleteFunc(slices.Clone(files), func(f *SourceFile) bool {
		return slices.Contains(strings.Fields(f.Constraint), "ignore")
	})
	if len(built) == 0 {
		built = files
	}
	count := map[string]int{}
	best := ""
	for _, f := range built {
		name := f.AST.Name.Name
		if f.isTest() {
			name = strings.TrimSuffix(name, "_test")
		}
		count[name]++
		if count[name] > count[best] || (count[name] == count[best] && name < best) {
			best = name
		}
	}
	return best
}

// packageOf returns the package part of the keys of a file's declarations.
func (p *Package) packageOf(f *SourceFile) (string, bool) {
	switch name := f.AST.Name.Name; {
	case name == p.Name:
		return p.Folder, true
	case f.isTest() && name == p.Name+"_test":
		return p.Folder + "_test", true
	}
	return "", false
}

// Lookup returns the declarations of a key, several if the name is declared
// under different build constraints.
func (m *Module) Lookup(key Key) ([]*Decl, error) {
	p, err := m.Package(m.folderOf(key.Package))
	if err != nil {
		return nil, err
	}
	return p.decls[key], nil
}

// folderOf strips the "_test" of an external test package, unless a folder has
// that very name.
func (m *Module) folderOf(pkg string) string {
	folder, ok := strings.CutSuffix(pkg, "_test")
	if !ok || m.hasFolder(pkg) {
		return pkg
	}
	return folder
}

func (m *Module) hasFolder(folder string) bool {
	return slices.Contains(m.Folders(), folder)
}

// Folders lists the folders of the module that hold Go files, in order.
func (m *Module) Folders() []string {
	var folders []string
	for name := range m.Tree {
		if isGoFile(name) {
			folders = append(folders, path.Dir(name))
		}
	}
	slices.Sort(folders)
	return slices.Compact(folders)
}

// isGoFile reports whether the go command would compile the file: not if it
// or a folder above it begins with "." or "_", or is testdata.
func isGoFile(name string) bool {
	if !strings.HasSuffix(name, ".go") {
		return false
	}
	return !slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool {
		return strings.HasPrefix(part, ".") || strings.HasPrefix(part, "_") || part == "testdata"
	})
}
