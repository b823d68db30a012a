package assemble

import (
	"bytes"
	"fmt"
	"go/format"
	"go/parser"
	"go/token"
	"slices"

	"golang.org/x/tools/go/ast/astutil"

	"mongofork/tools/fork/syntax"
)

// WithImports returns a file with the imports that it needs and lacks, and without those that nothing in it uses. An error says that
// a name means something else there. Imports named "_", "." or "C" have their own effects.
func WithImports(name string, text []byte, needed []syntax.Import) ([]byte, error) {
	source, err := syntax.Parse(name, text)
	if err != nil {
		return nil, err
	}
	uses, have := syntax.PackageUses(source), syntax.Imports(source)
	unused := slices.DeleteFunc(slices.Clone(have), func(i syntax.Import) bool {
		return len(uses[i.Name]) > 0 || i.Name == "_" || i.Name == "." || i.Path == "C"
	})
	lacking := slices.DeleteFunc(slices.Clone(needed), func(i syntax.Import) bool {
		there, ok := syntax.ImportNamed(have, i.Name)
		if ok && there.Path != i.Path {
			err = fmt.Errorf("%s means %q there, but %q in ours", i.Name, there.Path, i.Path)
		}
		return ok
	})
	if err != nil || len(unused)+len(lacking) == 0 {
		return text, err
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	written := func(i syntax.Import) string {
		if i.Spec.Name != nil {
			return i.Spec.Name.Name
		}
		return ""
	}
	for _, i := range lacking {
		astutil.AddNamedImport(fset, file, written(i), i.Path)
	}
	for _, i := range unused {
		astutil.DeleteNamedImport(fset, file, written(i), i.Path)
	}
	var out bytes.Buffer
	err = format.Node(&out, fset, file)
	return out.Bytes(), err
}
