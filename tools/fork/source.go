package fork

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strings"
)

// SourceFile is a parsed Go file, upstream's or ours.
type SourceFile struct {
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

// parseSource parses a file and finds its declarations. Their keys have no
// package yet: it depends on the other files of the folder.
func parseSource(name string, src []byte) (*SourceFile, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	s := &SourceFile{Path: name, Src: src, AST: file, fset: fset}
	if s.Constraint, err = fileConstraint(path.Base(name), file); err != nil {
		return nil, err
	}
	s.Decls = findDecls(s)
	return s, nil
}

// isTest reports whether only tests compile the file.
func (s *SourceFile) isTest() bool { return strings.HasSuffix(s.Path, "_test.go") }

// offset returns pos as a byte offset into Src.
func (s *SourceFile) offset(pos token.Pos) int { return s.fset.Position(pos).Offset }

// line returns the 1-based line of pos, disregarding any //line comment.
func (s *SourceFile) line(pos token.Pos) int { return s.fset.PositionFor(pos, false).Line }

// lineAt returns the 1-based line of a byte offset.
func (s *SourceFile) lineAt(offset int) int { return bytes.Count(s.Src[:offset], []byte("\n")) + 1 }

// at returns "path:line" for messages.
func (s *SourceFile) at(pos token.Pos) string { return fmt.Sprintf("%s:%d", s.Path, s.line(pos)) }

// text returns the source between two positions.
func (s *SourceFile) text(from, to token.Pos) []byte { return s.Src[s.offset(from):s.offset(to)] }

// isIdent reports whether s can name a declaration.
func isIdent(s string) bool { return token.IsIdentifier(s) }
