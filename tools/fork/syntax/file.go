// Package syntax reads Go files, upstream's and the overlay's: their declarations and the keys that name them, directives,
// tokens and imports. It changes nothing, and knows neither the module nor the overlay.
package syntax

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"path"
	"regexp"
	"slices"
	"strings"
)

// File is a parsed Go file, upstream's or ours.
type File struct {
	// Path is relative to the module's root, with slashes. From is where a file of ours lies in the repository.
	Path, From string
	Src        []byte
	AST        *ast.File
	Constraint string         // the condition of its //go:build line
	Decls      []*Decl        // the package-level declarations, one per name, in order
	Fset       *token.FileSet // has the positions of AST
}

func Parse(name string, src []byte) (*File, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	s := &File{Path: name, Src: src, AST: file, Fset: fset}
	if line := buildLine.FindSubmatch(src[:s.Offset(file.Package)]); line != nil {
		s.Constraint = string(line[1])
	}
	s.findDecls()
	return s, nil
}

var buildLine = regexp.MustCompile(`(?m)^//go:build (.*)$`)

// Package returns the package part of the keys of the file's declarations.
func (s *File) Package() string {
	folder := path.Dir(s.Path)
	if s.IsTest() && strings.HasSuffix(s.AST.Name.Name, "_test") {
		folder += "_test"
	}
	return folder
}

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

func (s *File) Offset(pos token.Pos) int { return s.Fset.Position(pos).Offset }

// Line returns the 1-based line of pos, disregarding any //line comment.
func (s *File) Line(pos token.Pos) int { return s.Fset.PositionFor(pos, false).Line }

func (s *File) Text(from, to token.Pos) []byte { return s.Src[s.Offset(from):s.Offset(to)] }

// IsGoFile reports whether the go command would compile the file: not if it or a folder above it begins with "." or "_", or is testdata.
func IsGoFile(name string) bool {
	return strings.HasSuffix(name, ".go") && !slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool {
		return strings.HasPrefix(part, ".") || strings.HasPrefix(part, "_") || part == "testdata"
	})
}

// findDecls lists the package-level declarations, imports left out.
func (s *File) findDecls() {
	pkg := s.Package()
	add := func(d Decl, name string, docs ...*ast.CommentGroup) {
		d.File, d.Key = s, Key{Package: pkg, Name: name}
		d.Docs = slices.DeleteFunc(docs, func(g *ast.CommentGroup) bool { return g == nil })
		s.Decls = append(s.Decls, &d)
	}
	for _, decl := range s.AST.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok {
			name := fn.Name.Name
			if fn.Recv != nil && len(fn.Recv.List) == 1 {
				receiver, _, _ := strings.Cut(types.ExprString(fn.Recv.List[0].Type), "[") // without type parameters
				name = strings.TrimPrefix(receiver, "*") + "." + name
			}
			add(Decl{Func: fn, Shared: 1, Node: fn}, name, fn.Doc)
			continue
		}
		gen, _ := decl.(*ast.GenDecl)
		for _, spec := range gen.Specs {
			node, doc := ast.Node(gen), gen.Doc
			if len(gen.Specs) > 1 {
				node, doc = spec, nil
			}
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				add(Decl{Gen: gen, Spec: spec, Shared: 1, Node: node}, spec.Name.Name, doc, spec.Doc)
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					add(Decl{Gen: gen, Spec: spec, Shared: len(spec.Names), Node: node}, name.Name, doc, spec.Doc)
				}
			}
		}
	}
}

// At returns "path:line" of the declaration.
func (d *Decl) At() string {
	return fmt.Sprintf("%s:%d", cmp.Or(d.File.From, d.File.Path), d.File.Line(d.Pos()))
}

// Decl is one declared name at package level.
type Decl struct {
	Key  Key
	File *File

	// Func is set for functions and methods, Gen and Spec for the others.
	Func   *ast.FuncDecl
	Gen    *ast.GenDecl
	Spec   ast.Spec
	Shared int                 // counts the names that the spec declares ("a, b = 1, 2")
	Docs   []*ast.CommentGroup // the comment groups that document the declaration
	Node   ast.Node            // what stands for the declaration alone
}

// Unnamed reports whether a package may hold any number of these: init functions and blank variables.
func (d *Decl) Unnamed() bool { return d.Key.Name == "_" || d.Func != nil && d.Key.Name == "init" }

// Bare returns the name without the receiver.
func (d *Decl) Bare() string { return d.Key.Name[strings.LastIndexByte(d.Key.Name, '.')+1:] }

// Grouped reports whether the declaration shares parentheses with others.
func (d *Decl) Grouped() bool { return d.Gen != nil && len(d.Gen.Specs) > 1 }

// Pos is where the declaration itself begins, after its comments.
func (d *Decl) Pos() token.Pos {
	if d.Func != nil {
		return d.Func.Type.Func
	}
	return d.Node.Pos()
}

// Extent returns the byte range of the declaration with the comments above it and the one behind it.
func (d *Decl) Extent() (start, end int) {
	from := d.Pos()
	for _, doc := range d.Docs {
		from = min(from, doc.Pos())
	}
	end = d.File.Offset(d.Node.End())
	line := d.File.Src[end:LineEnd(d.File.Src, end)]
	if bytes.HasPrefix(bytes.TrimLeft(line, " \t"), []byte("//")) {
		end += len(bytes.TrimRight(line, "\n"))
	}
	return d.File.Offset(from), end
}

// StructType returns the struct that the declaration defines, or nil.
func (d *Decl) StructType() *ast.StructType {
	if spec, ok := d.Spec.(*ast.TypeSpec); ok && !spec.Assign.IsValid() {
		st, _ := spec.Type.(*ast.StructType)
		return st
	}
	return nil
}

// Implied reports whether a constant's value depends on its place in its group: it is written with iota, or repeats what is above it.
func (d *Decl) Implied() bool {
	spec, ok := d.Spec.(*ast.ValueSpec)
	return ok && d.Gen.Tok == token.CONST && (len(spec.Values) == 0 || Mentions(spec, "iota"))
}

// Rooted reports whether the declaration cannot leave its place, because it shares its line, or because values in its group are implied.
func (d *Decl) Rooted() bool {
	return d.Shared > 1 || d.Grouped() && slices.ContainsFunc(d.Gen.Specs, func(s ast.Spec) bool {
		return (&Decl{Gen: d.Gen, Spec: s}).Implied()
	})
}

func Mentions(in ast.Node, name string) bool {
	for n := range ast.Preorder(in) {
		if id, ok := n.(*ast.Ident); ok && id.Name == name {
			return true
		}
	}
	return false
}

var majorSuffix = regexp.MustCompile(`/v[0-9]+$`)

// packageName returns the name of an imported package: the path's last element, without a major version, a ".vN" suffix or a "go-"
// prefix. The module cache need not hold upstream's dependencies, and neither they nor upstream's packages break this rule.
func packageName(importPath string) string {
	base, _, _ := strings.Cut(path.Base(majorSuffix.ReplaceAllString(importPath, "")), ".")
	return strings.TrimPrefix(base, "go-")
}

func ImportPath(spec *ast.ImportSpec) string { return strings.Trim(spec.Path.Value, "\"`") }

// ImportName returns the name that an import is given; empty if it keeps its own.
func ImportName(spec *ast.ImportSpec) string {
	if spec.Name == nil {
		return ""
	}
	return spec.Name.Name
}

// Imports returns what a file imports, by the name that it uses.
func Imports(s *File) map[string]*ast.ImportSpec {
	imports := map[string]*ast.ImportSpec{}
	for _, spec := range s.AST.Imports {
		imports[cmp.Or(ImportName(spec), packageName(ImportPath(spec)))] = spec
	}
	return imports
}

// PackageUses returns the names that a part of a file uses as packages: the x of every x.Sel that the parser could not resolve in it.
func PackageUses(s *File, start, end int) map[string]bool {
	uses := map[string]bool{}
	for n := range ast.Preorder(s.AST) {
		if sel, is := n.(*ast.SelectorExpr); is {
			if id, ok := sel.X.(*ast.Ident); ok && id.Obj == nil && start <= s.Offset(id.Pos()) && s.Offset(id.Pos()) < end {
				uses[id.Name] = true
			}
		}
	}
	return uses
}

// Key names a package-level declaration: the package and the declaration's name in it. Its text form is "x/mongo/driver Operation.Execute".
type Key struct {
	// Package is the folder relative to the module's root ("." for the root itself). The external test package of a folder has
	// "_test" appended, as in the go command's own output.
	Package string
	Name    string // the identifier, or "Receiver.Method" for a method
}

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
	list := ""
	for i, d := range decls {
		if i > 0 && decls[i-1].File == d.File {
			continue
		}
		if list += ", " + d.At(); d.File.Constraint != "" {
			list += " [" + d.File.Constraint + "]"
		}
	}
	return strings.TrimPrefix(list, ", ")
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

// Tokens returns what declarations say, token for token. Comments, layout and the file play no part in it. Of a constant whose value
// depends on its place it is what the whole group says.
func Tokens(decls ...*Decl) string {
	var text strings.Builder
	for _, d := range decls {
		var from, to token.Pos
		switch {
		case d.Func != nil:
			from, to = d.Func.Type.Func, d.Func.End()
		case d.Implied():
			from, to = d.Gen.Pos(), d.Gen.End()
		default: // without the parentheses that others may share
			from, to = d.Spec.Pos(), d.Spec.End()
			fmt.Fprintln(&text, d.Gen.Tok)
		}
		var s scanner.Scanner
		src, fset := d.File.Text(from, to), token.NewFileSet()
		s.Init(fset.AddFile("", fset.Base(), len(src)), src, nil, 0)
		for _, tok, lit := s.Scan(); tok != token.EOF; _, tok, lit = s.Scan() {
			if tok != token.SEMICOLON { // which the scanner inserts by the line breaks
				fmt.Fprintln(&text, cmp.Or(lit, tok.String()))
			}
		}
	}
	return text.String()
}
