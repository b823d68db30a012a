package syntax

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Import is one import of a file under the name that the file uses.
type Import struct {
	Name, Path string
	Spec       *ast.ImportSpec
}

var majorSuffix = regexp.MustCompile(`^v[0-9]+$`)

// packageName returns the name of an imported package: the path's last element, without a major version, a ".vN" suffix or a "go-"
// prefix. The module cache need not hold upstream's dependencies, and neither they nor upstream's packages break this rule.
func packageName(importPath string) string {
	base := path.Base(importPath)
	if majorSuffix.MatchString(base) && strings.Contains(importPath, "/") {
		base = path.Base(path.Dir(importPath))
	}
	base, _, _ = strings.Cut(base, ".")
	return strings.TrimPrefix(base, "go-")
}

// Imports lists what a file imports.
func Imports(s *File) []Import {
	var refs []Import
	for _, spec := range s.AST.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser has checked it
		}
		ref := Import{Path: p, Spec: spec}
		if spec.Name != nil {
			ref.Name = spec.Name.Name
		} else {
			ref.Name = packageName(p)
		}
		refs = append(refs, ref)
	}
	return refs
}

// PackageUses returns the offsets at which a file uses each name as a
// package: the x of every x.Sel that the parser could not resolve in the file.
func PackageUses(s *File) map[string][]int {
	unresolved := map[*ast.Ident]bool{}
	for _, id := range s.AST.Unresolved {
		unresolved[id] = true
	}
	uses := map[string][]int{}
	ast.Inspect(s.AST, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := sel.X.(*ast.Ident); ok && unresolved[id] {
				uses[id.Name] = append(uses[id.Name], s.Offset(id.Pos()))
			}
		}
		return true
	})
	return uses
}

// NeededImports returns the imports of ours that a node of our file uses.
func NeededImports(ours *File, start, end int) []Import {
	refs := Imports(ours)
	var needed []Import
	for name, at := range PackageUses(ours) {
		if !slices.ContainsFunc(at, func(i int) bool { return start <= i && i < end }) {
			continue
		}
		if ref, ok := ImportNamed(refs, name); ok {
			needed = append(needed, ref)
		}
	}
	slices.SortFunc(needed, func(a, b Import) int { return strings.Compare(a.Path, b.Path) })
	return needed
}

// ImportNamed returns the import that a file knows as name.
func ImportNamed(refs []Import, name string) (Import, bool) {
	i := slices.IndexFunc(refs, func(r Import) bool { return r.Name == name })
	if i < 0 {
		return Import{}, false
	}
	return refs[i], true
}
