package syntax

import (
	"go/ast"
	"path"
	"regexp"
	"strings"
)

var majorSuffix = regexp.MustCompile(`/v[0-9]+$`)

// packageName returns the name of an imported package: the path's last element, without a major version, a ".vN" suffix or a "go-"
// prefix. The module cache need not hold upstream's dependencies, and neither they nor upstream's packages break this rule.
func packageName(importPath string) string {
	base, _, _ := strings.Cut(path.Base(majorSuffix.ReplaceAllString(importPath, "")), ".")
	return strings.TrimPrefix(base, "go-")
}

// ImportPath returns the path of an import.
func ImportPath(spec *ast.ImportSpec) string { return strings.Trim(spec.Path.Value, "\"`") }

// Imports returns what a file imports, by the name that it uses.
func Imports(s *File) map[string]*ast.ImportSpec {
	imports := map[string]*ast.ImportSpec{}
	for _, spec := range s.AST.Imports {
		if spec.Name != nil {
			imports[spec.Name.Name] = spec
		} else {
			imports[packageName(ImportPath(spec))] = spec
		}
	}
	return imports
}

// PackageUses returns the names that a part of a file uses as packages: the x of every x.Sel that the parser could not resolve in it.
func PackageUses(s *File, start, end int) map[string]bool {
	unresolved := map[*ast.Ident]bool{}
	for _, id := range s.AST.Unresolved {
		unresolved[id] = true
	}
	uses := map[string]bool{}
	ast.Inspect(s.AST, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := sel.X.(*ast.Ident); ok && unresolved[id] && start <= s.Offset(id.Pos()) && s.Offset(id.Pos()) < end {
				uses[id.Name] = true
			}
		}
		return true
	})
	return uses
}
