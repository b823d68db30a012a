package upstream

import (
	"fmt"
	"path"
	"strings"

	"mongofork/tools/fork/syntax"
)

// Package parses the Go files of a folder. A folder that the module lacks
// gives an empty package.
func (m *Module) Package(folder string) (*syntax.Package, error) {
	if p, ok := m.packages[folder]; ok {
		return p, nil
	}
	var files []*syntax.File
	for _, name := range m.Tree.Paths() {
		if path.Dir(name) != folder || !syntax.IsGoFile(name) {
			continue
		}
		file, err := syntax.Parse(name, m.Tree[name])
		if err != nil {
			return nil, fmt.Errorf("upstream's %s: %w", name, err)
		}
		files = append(files, file)
	}
	p := syntax.NewPackage(folder, files)
	if m.packages == nil {
		m.packages = map[string]*syntax.Package{}
	}
	m.packages[folder] = p
	return p, nil
}

// Lookup returns the declarations of a key, several if the name is declared
// under different build constraints.
func (m *Module) Lookup(key syntax.Key) ([]*syntax.Decl, error) {
	p, err := m.Package(strings.TrimSuffix(key.Package, "_test"))
	if err != nil {
		return nil, err
	}
	return p.Lookup(key), nil
}

// LookupWhole returns the declarations of a key and what cannot be there without it, in order: of a type its methods, and variables
// without a name, such as those that say which interfaces it has.
func (m *Module) LookupWhole(key syntax.Key) ([]*syntax.Decl, error) {
	p, err := m.Package(strings.TrimSuffix(key.Package, "_test"))
	if err != nil {
		return nil, err
	}
	return p.Whole(key), nil
}
