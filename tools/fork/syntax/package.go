package syntax

import (
	"bytes"
	"fmt"
	"go/token"
	"io/fs"
	"strings"
)

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

// Key names a package-level declaration: the package and the declaration's name in it. Its text form is
// "x/mongo/driver Operation.Execute".
type Key struct {
	// Package is the folder relative to the module's root ("." for the root itself). The external test package of a folder has
	// "_test" appended, as in the go command's own output.
	Package string
	// Name is the identifier, or "Receiver.Method" for a method.
	Name string
}

// String returns the key's text form, which ParseKey reads.
func (k Key) String() string { return k.Package + " " + k.Name }

// ParseKey reads the text form of a key.
func ParseKey(s string) (Key, error) {
	folder, name, _ := strings.Cut(s, " ")
	if !fs.ValidPath(folder) || !isDeclName(name) {
		return Key{},
			fmt.Errorf("key %q: want 'folder Name' or 'folder Receiver.Method', such as 'x/mongo/driver Operation.Execute'", s)
	}
	return Key{Package: folder, Name: name}, nil
}

// UnmarshalText reads a key in a YAML file.
func (k *Key) UnmarshalText(text []byte) (err error) {
	*k, err = ParseKey(string(text))
	return err
}

// isDeclName reports whether s is an identifier or two of them joined by a dot.
func isDeclName(s string) bool {
	receiver, method, dotted := strings.Cut(s, ".")
	return token.IsIdentifier(receiver) && (!dotted || token.IsIdentifier(method))
}

// Places lists the first declaration in each file, with build constraints.
func Places(decls []*Decl) string {
	var list []string
	for i, d := range decls {
		if i > 0 && decls[i-1].File == d.File {
			continue
		}
		at := d.At()
		if d.File.Constraint != "" {
			at += " [" + d.File.Constraint + "]"
		}
		list = append(list, at)
	}
	return strings.Join(list, ", ")
}

// LineEnd returns the offset just after the line that holds offset i.
func LineEnd(src []byte, i int) int {
	if n := bytes.IndexByte(src[i:], '\n'); n >= 0 {
		return i + n + 1
	}
	return len(src)
}

// LineStart returns the offset of the first byte of the line that holds i.
func LineStart(src []byte, i int) int { return bytes.LastIndexByte(src[:i], '\n') + 1 }
