package fork

import (
	"go/ast"
	"strings"
)

// usesOf lists where a name that is not declared any more is used: in its package, and if it is exported in all others. The compiler
// has the last word: a method is found by its name alone, and a field or method of the same name counts as a use of it.
func (m *Module) usesOf(key Key) ([]string, error) {
	folders := []string{m.folderOf(key.Package)}
	_, name, isMethod := strings.Cut(key.Name, ".")
	if !isMethod {
		name = key.Name
	}
	if ast.IsExported(name) && !isTestName(name) {
		folders = m.Folders()
	}
	var at []string
	for _, folder := range folders {
		p, err := m.Package(folder)
		if err != nil {
			return nil, err
		}
		for _, file := range p.Files {
			local := ""
			if pkg, ok := p.packageOf(file); !ok || pkg != key.Package {
				local = localName(m, file, key)
			}
			at = append(at, file.usesOf(name, isMethod, local)...)
		}
	}
	return at, nil
}

// localName returns the name that a file of another package has for the package of a key, or "?" if it does not import it.
func localName(m *Module, file *SourceFile, key Key) string {
	for _, ref := range m.packageNames(nil).imports(file) {
		if ref.path == m.Path+"/"+key.Package {
			return ref.name
		}
	}
	return "?"
}

// usesOf lists where a file uses a name: as it is, if local is empty, else as local.name; a method after any dot.
func (s *SourceFile) usesOf(name string, isMethod bool, local string) []string {
	var at []string
	ast.Inspect(s.AST, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == name {
			x, _ := sel.X.(*ast.Ident)
			if isMethod || local != "" && x != nil && x.Name == local {
				at = append(at, s.at(sel.Pos()))
			}
		}
		return true
	})
	if !isMethod && local == "" {
		for _, id := range s.AST.Unresolved {
			if id.Name == name {
				at = append(at, s.at(id.Pos()))
			}
		}
	}
	return at
}
