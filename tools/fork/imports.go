package fork

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// importRef is one import of a file under the name that the file uses.
type importRef struct {
	name, path string
	spec       *ast.ImportSpec
}

// packageNamer finds the package name behind an import path.
type packageNamer struct {
	module  *Module
	overlay *Overlay
}

var majorSuffix = regexp.MustCompile(`^v[0-9]+$`)

// name returns the name of an imported package. Inside the module it is read
// from the package clause. Elsewhere it is the path's last element, without
// a major version, a ".vN" suffix or a "go-" prefix: the module cache need
// not hold upstream's dependencies, and none of them breaks this rule.
func (n packageNamer) name(importPath string) string {
	if n.module != nil {
		if folder, ok := strings.CutPrefix(importPath, n.module.Path+"/"); ok {
			if name := n.local(folder); name != "" {
				return name
			}
		}
	}
	base := path.Base(importPath)
	if majorSuffix.MatchString(base) && strings.Contains(importPath, "/") {
		base = path.Base(path.Dir(importPath))
	}
	base, _, _ = strings.Cut(base, ".")
	return strings.TrimPrefix(base, "go-")
}

func (n packageNamer) local(folder string) string {
	if p, err := n.module.Package(folder); err == nil && p.Name != "" {
		return p.Name
	}
	if n.overlay != nil {
		for _, f := range n.overlay.Files {
			if f.Source != nil && path.Dir(f.Path) == folder && !f.Source.isTest() {
				return f.Source.AST.Name.Name
			}
		}
	}
	return ""
}

// imports lists what a file imports.
func (n packageNamer) imports(s *SourceFile) []importRef {
	var refs []importRef
	for _, spec := range s.AST.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser has checked it
		}
		ref := importRef{path: p, spec: spec}
		if spec.Name != nil {
			ref.name = spec.Name.Name
		} else {
			ref.name = n.name(p)
		}
		refs = append(refs, ref)
	}
	return refs
}

// byName returns the import that a file knows as name.
func byName(refs []importRef, name string) (importRef, bool) {
	i := slices.IndexFunc(refs, func(r importRef) bool { return r.name == name })
	if i < 0 {
		return importRef{}, false
	}
	return refs[i], true
}

// packageUses returns the offsets at which a file uses each name as a
// package: the x of every x.Sel that the parser could not resolve in the file.
func packageUses(s *SourceFile) map[string][]int {
	unresolved := map[*ast.Ident]bool{}
	for _, id := range s.AST.Unresolved {
		unresolved[id] = true
	}
	uses := map[string][]int{}
	ast.Inspect(s.AST, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := sel.X.(*ast.Ident); ok && unresolved[id] {
				uses[id.Name] = append(uses[id.Name], s.offset(id.Pos()))
			}
		}
		return true
	})
	return uses
}

// neededImports returns the imports of ours that a node of our file uses.
func (n packageNamer) neededImports(ours *SourceFile, start, end int) []importRef {
	refs := n.imports(ours)
	var needed []importRef
	for name, at := range packageUses(ours) {
		if !slices.ContainsFunc(at, func(i int) bool { return start <= i && i < end }) {
			continue
		}
		if ref, ok := byName(refs, name); ok {
			needed = append(needed, ref)
		}
	}
	slices.SortFunc(needed, func(a, b importRef) int { return strings.Compare(a.path, b.path) })
	return needed
}
