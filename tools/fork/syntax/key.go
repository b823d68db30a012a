package syntax

import (
	"bytes"
	"go/ast"
	"slices"
	"strings"
)

// Key names a package-level declaration: the package and the declaration's name in it. Its text form is
// "x/mongo/driver Operation.Execute".
type Key struct {
	// Package is the folder relative to the module's root ("." for the root itself). The external test package of a folder has
	// "_test" appended, as in the go command's own output.
	Package string
	// Name is the identifier, or "Receiver.Method" for a method.
	Name string
}

// String returns the key's text form.
func (k Key) String() string { return k.Package + " " + k.Name }

// Public reports whether applications can use what the key names.
func (k Key) Public() bool {
	receiver, name, isMethod := strings.Cut(k.Name, ".")
	return !slices.Contains(strings.Split(k.Package, "/"), "internal") && ast.IsExported(receiver) &&
		(!isMethod || ast.IsExported(name))
}

// UnmarshalText reads a key in a YAML file. Whether there is such a declaration is for others to say.
func (k *Key) UnmarshalText(text []byte) error {
	k.Package, k.Name, _ = strings.Cut(string(text), " ")
	return nil
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
