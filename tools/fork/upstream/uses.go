package upstream

import (
	"go/ast"
	"strings"

	"mongofork/tools/fork/syntax"
)

// UsesOf lists where a name that is not declared any more is used: in its package, and if it is exported in all others. The compiler
// has the last word: a method is found by its name alone, and a field or method of the same name counts as a use of it.
func (m *Module) UsesOf(key syntax.Key) ([]string, error) {
	folders := []string{m.folderOf(key.Package)}
	_, name, isMethod := strings.Cut(key.Name, ".")
	if !isMethod {
		name = key.Name
	}
	if ast.IsExported(name) && !syntax.IsTestName(name) {
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
			if pkg, ok := p.PackageOf(file); !ok || pkg != key.Package {
				local = localName(m, file, key)
			}
			at = append(at, file.UsesOf(name, isMethod, local)...)
		}
	}
	return at, nil
}

// localName returns the name that a file of another package has for the package of a key, or "?" if it does not import it.
func localName(m *Module, file *syntax.File, key syntax.Key) string {
	for _, ref := range m.PackageNames(nil).Imports(file) {
		if ref.Path == m.Path+"/"+key.Package {
			return ref.Name
		}
	}
	return "?"
}
