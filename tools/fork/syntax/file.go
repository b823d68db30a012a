// Package syntax reads Go files, upstream's and the overlay's: their declarations and the keys that name them, directives,
// fingerprints, imports and signatures. It changes nothing, and knows neither the module nor the overlay.
package syntax

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
)

// File is a parsed Go file, upstream's or ours.
type File struct {
	// Path is relative to the module's root, with slashes.
	Path string
	Src  []byte
	AST  *ast.File
	// Constraint is the condition under which the file is compiled, in a
	// canonical form; empty when it always is.
	Constraint string
	// Decls are the package-level declarations, one per name, in order.
	Decls []*Decl

	fset *token.FileSet
}

// Parse parses a file and finds its declarations. Their keys have no
// package yet: it depends on the other files of the folder.
func Parse(name string, src []byte) (*File, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	s := &File{Path: name, Src: src, AST: file, fset: fset}
	if s.Constraint, err = fileConstraint(path.Base(name), file); err != nil {
		return nil, err
	}
	s.Decls = findDecls(s)
	return s, nil
}

// IsTest reports whether only tests compile the file.
func (s *File) IsTest() bool { return strings.HasSuffix(s.Path, "_test.go") }

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
func (s *File) Offset(pos token.Pos) int { return s.fset.Position(pos).Offset }

// Line returns the 1-based line of pos, disregarding any //line comment.
func (s *File) Line(pos token.Pos) int { return s.fset.PositionFor(pos, false).Line }

// at returns "path:line" for messages.
func (s *File) at(pos token.Pos) string { return fmt.Sprintf("%s:%d", s.Path, s.Line(pos)) }

// Text returns the source between two positions.
func (s *File) Text(from, to token.Pos) []byte { return s.Src[s.Offset(from):s.Offset(to)] }

// IsTestName reports whether go test runs a function of this name.
func IsTestName(name string) bool {
	return name != "TestMain" && slices.ContainsFunc([]string{"Test", "Example", "Fuzz"}, func(prefix string) bool {
		return strings.HasPrefix(name, prefix)
	})
}

// IsGoFile reports whether the go command would compile the file: not if it
// or a folder above it begins with "." or "_", or is testdata.
func IsGoFile(name string) bool {
	if !strings.HasSuffix(name, ".go") {
		return false
	}
	return !slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool {
		return strings.HasPrefix(part, ".") || strings.HasPrefix(part, "_") || part == "testdata"
	})
}

// IsFormatted reports whether Go source is laid out as gofmt does.
func IsFormatted(src []byte) bool {
	formatted, err := format.Source(src)
	return err == nil && bytes.Equal(formatted, src)
}

// findDecls lists the package-level declarations of a file, imports left out.
func findDecls(s *File) []*Decl {
	var out []*Decl
	for _, decl := range s.AST.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			out = append(out, funcDecl(s, decl))
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				out = append(out, specDecls(s, decl, spec)...)
			}
		}
	}
	return out
}

func funcDecl(s *File, fn *ast.FuncDecl) *Decl {
	d := &Decl{Kind: Func, File: s, Func: fn, Shared: 1}
	d.Key.Name = fn.Name.Name
	if fn.Recv != nil && len(fn.Recv.List) == 1 {
		d.Kind = Method
		d.Key.Name = ReceiverName(fn.Recv.List[0].Type) + "." + fn.Name.Name
	}
	return d
}

func specDecls(s *File, gen *ast.GenDecl, spec ast.Spec) []*Decl {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		return []*Decl{{Key: Key{Name: spec.Name.Name}, Kind: Type, File: s, Gen: gen, Spec: spec, Shared: 1}}
	case *ast.ValueSpec:
		kind := Var
		if gen.Tok == token.CONST {
			kind = Const
		}
		var out []*Decl
		for _, name := range spec.Names {
			out = append(out, &Decl{Key: Key{Name: name.Name}, Kind: kind, File: s, Gen: gen, Spec: spec,
				Shared: len(spec.Names)})
		}
		return out
	}
	return nil
}

// ReceiverName returns the type's name of a receiver such as *T or T[K, V].
func ReceiverName(expr ast.Expr) string {
	for {
		switch t := expr.(type) {
		case *ast.Ident:
			return t.Name
		case *ast.StarExpr:
			expr = t.X
		case *ast.ParenExpr:
			expr = t.X
		case *ast.IndexExpr:
			expr = t.X
		case *ast.IndexListExpr:
			expr = t.X
		default:
			return "?"
		}
	}
}
