package syntax

import (
	"go/ast"
	"maps"
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
	Files []*File
	// decls maps a key to its declarations: several where files with
	// different build constraints declare the same name.
	decls map[Key][]*Decl
}

// NewPackage makes a package of a folder's files and completes the keys of their declarations.
func NewPackage(folder string, files []*File) *Package {
	p := &Package{Folder: folder, Name: LibraryName(files), Files: files, decls: map[Key][]*Decl{}}
	for _, file := range files {
		pkg, ok := p.PackageOf(file)
		if !ok {
			continue // a program or an example that go build leaves out
		}
		for _, d := range file.Decls {
			d.Key.Package = pkg
			if !d.Unnamed() {
				p.decls[d.Key] = append(p.decls[d.Key], d)
			}
		}
	}
	return p
}

// Keys returns the keys that the package declares, in order.
func (p *Package) Keys() []Key { return slices.SortedFunc(maps.Keys(p.decls), Key.Compare) }

// Lookup returns the declarations of a key.
func (p *Package) Lookup(key Key) []*Decl { return p.decls[key] }

// LibraryName returns the package clause of the first library file, or without one that of the tests. Programs that go generate runs,
// which go build leaves out, do not count.
func LibraryName(files []*File) string {
	name := ""
	for _, f := range files {
		switch {
		case slices.Contains(strings.Fields(f.Constraint), "ignore"):
		case !f.IsTest():
			return f.AST.Name.Name
		case name == "":
			name = strings.TrimSuffix(f.AST.Name.Name, "_test")
		}
	}
	return name
}

// PackageOf returns the package part of the keys of a file's declarations.
func (p *Package) PackageOf(f *File) (string, bool) {
	switch name := f.AST.Name.Name; {
	case name == p.Name:
		return p.Folder, true
	case f.IsTest() && name == p.Name+"_test":
		return p.Folder + "_test", true
	}
	return "", false
}

// Whole returns the declarations of a key and what cannot be there without it, in order.
func (p *Package) Whole(key Key) []*Decl {
	var found []*Decl
	for _, file := range p.Files {
		for _, d := range file.Decls {
			if d.Key.Package == key.Package && (d.Key == key || strings.HasPrefix(d.Key.Name, key.Name+".") ||
				d.Key.Name == "_" && mentions(d.Spec, key.Name)) {
				found = append(found, d)
			}
		}
	}
	return found
}

// mentions reports whether a declaration has an identifier of this name.
func mentions(spec ast.Spec, name string) bool {
	found := false
	ast.Inspect(spec, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && id.Name == name
		return !found
	})
	return found
}
