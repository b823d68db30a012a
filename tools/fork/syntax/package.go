package syntax

import "strings"

// Package holds the declarations of one folder of the module.
type Package struct {
	// Folder is relative to the module's root.
	Folder string
	// Name is the package clause of the folder's library files, or without one that of the tests; empty if there are neither.
	Name  string
	Files []*File
	// decls maps a key to its declarations: several where files with different build constraints declare the same name.
	decls map[Key][]*Decl
}

// NewPackage makes a package of a folder's files and completes the keys of their declarations.
func NewPackage(folder string, files []*File) *Package {
	p := &Package{Folder: folder, Files: files, decls: map[Key][]*Decl{}}
	for _, f := range files {
		if f.Ignored() {
			continue
		}
		if !f.IsTest() {
			p.Name = f.AST.Name.Name
			break
		}
		p.Name = strings.TrimSuffix(f.AST.Name.Name, "_test")
	}
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

// Lookup returns the declarations of a key.
func (p *Package) Lookup(key Key) []*Decl { return p.decls[key] }

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

// Whole returns the declarations of a key and what cannot be there without it, in order: of a type its methods, and variables without a
// name, such as those that say which interfaces it has.
func (p *Package) Whole(key Key) []*Decl {
	var found []*Decl
	for _, file := range p.Files {
		for _, d := range file.Decls {
			if d.Key.Package == key.Package && (d.Key == key || strings.HasPrefix(d.Key.Name, key.Name+".") ||
				d.Key.Name == "_" && Mentions(d.Spec, key.Name)) {
				found = append(found, d)
			}
		}
	}
	return found
}
