// Package syntax reads Go files, upstream's and the overlay's: their declarations and the keys that name them, directives,
// fingerprints and imports. It changes nothing, and knows neither the module nor the overlay.
package syntax

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/format"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// File is a parsed Go file, upstream's or ours.
type File struct {
	// Path is relative to the module's root, with slashes.
	Path string
	Src  []byte
	AST  *ast.File
	// Constraint is the condition under which the file is compiled: its //go:build line, and whether it is a test. What the name says
	// of systems is left to the compiler.
	Constraint string
	// Decls are the package-level declarations, one per name, in order.
	Decls []*Decl
	// Fset has the positions of AST.
	Fset *token.FileSet
}

// Parse parses a file and finds its declarations. Their keys have no package yet: it depends on the other files of the folder.
func Parse(name string, src []byte) (*File, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	s := &File{Path: name, Src: src, AST: file, Fset: fset}
	var terms []string
	if s.IsTest() {
		terms = []string{"test"}
	}
	for _, group := range file.Comments {
		for _, c := range group.List {
			if c.Pos() < file.Package && constraint.IsGoBuild(c.Text) {
				terms = append(terms, strings.TrimSpace(strings.TrimPrefix(c.Text, "//go:build")))
			}
		}
	}
	s.Constraint = strings.Join(terms, " && ")
	s.findDecls()
	return s, nil
}

// IsTest reports whether only tests compile the file.
func (s *File) IsTest() bool { return strings.HasSuffix(s.Path, "_test.go") }

// Ignored reports whether the file is a program that go generate runs.
func (s *File) Ignored() bool { return slices.Contains(strings.Fields(s.Constraint), "ignore") }

// Decl returns the declaration of this name, Type.Method for a method; nil if there is none.
func (s *File) Decl(name string) *Decl {
	for _, d := range s.Decls {
		if d.Key.Name == name {
			return d
		}
	}
	return nil
}

// Offset returns pos as a byte offset into Src.
func (s *File) Offset(pos token.Pos) int { return s.Fset.Position(pos).Offset }

// Line returns the 1-based line of pos, disregarding any //line comment.
func (s *File) Line(pos token.Pos) int { return s.Fset.PositionFor(pos, false).Line }

// Text returns the source between two positions.
func (s *File) Text(from, to token.Pos) []byte { return s.Src[s.Offset(from):s.Offset(to)] }

// IsGoFile reports whether the go command would compile the file: not if it or a folder above it begins with "." or "_", or is testdata.
func IsGoFile(name string) bool {
	return strings.HasSuffix(name, ".go") && !slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool {
		return strings.HasPrefix(part, ".") || strings.HasPrefix(part, "_") || part == "testdata"
	})
}

// IsFormatted reports whether Go source is laid out as gofmt does.
func IsFormatted(src []byte) bool {
	formatted, err := format.Source(src)
	return err == nil && bytes.Equal(formatted, src)
}

// findDecls lists the package-level declarations, imports left out.
func (s *File) findDecls() {
	add := func(d Decl, name string) {
		d.File, d.Key.Name = s, name
		s.Decls = append(s.Decls, &d)
	}
	for _, decl := range s.AST.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok {
			name := fn.Name.Name
			if fn.Recv != nil && len(fn.Recv.List) == 1 {
				name = receiverName(fn.Recv.List[0].Type) + "." + name
			}
			add(Decl{Func: fn, Shared: 1}, name)
			continue
		}
		gen, _ := decl.(*ast.GenDecl)
		for _, spec := range gen.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				add(Decl{Gen: gen, Spec: spec, Shared: 1}, spec.Name.Name)
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					add(Decl{Gen: gen, Spec: spec, Shared: len(spec.Names)}, name.Name)
				}
			}
		}
	}
}

// receiverName returns the type's name of a receiver such as *T or T[K, V].
func receiverName(expr ast.Expr) string {
	name := "?"
	ast.Inspect(expr, func(n ast.Node) bool { // the first identifier is the type's
		if id, ok := n.(*ast.Ident); ok && name == "?" {
			name = id.Name
		}
		return name == "?"
	})
	return name
}

// At returns "path:line" of the declaration.
func (d *Decl) At() string { return fmt.Sprintf("%s:%d", d.File.Path, d.File.Line(d.Pos())) }
