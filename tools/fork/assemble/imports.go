package assemble

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"maps"
	"slices"

	"golang.org/x/tools/go/ast/astutil"

	"mongofork/tools/fork/syntax"
)

// WithImports returns a file with the imports that it needs and lacks, by name, and without those that nothing in it uses. An error says
// that a name means something else there. Imports named "_", "." or "C" have their own effects.
func WithImports(name string, text []byte, needed map[string]*ast.ImportSpec) ([]byte, error) {
	source, err := syntax.Parse(name, text)
	if err != nil {
		return nil, err
	}
	fset, file := source.Fset, source.AST
	written := func(spec *ast.ImportSpec) string {
		if spec.Name != nil {
			return spec.Name.Name
		}
		return ""
	}
	changed := false
	have, uses := syntax.Imports(source), syntax.PackageUses(source, 0, len(text))
	for _, as := range slices.Sorted(maps.Keys(needed)) {
		path := syntax.ImportPath(needed[as])
		if there := have[as]; there == nil {
			changed = astutil.AddNamedImport(fset, file, written(needed[as]), path) || changed
		} else if syntax.ImportPath(there) != path {
			return nil, fmt.Errorf("%s means %q there, but %q in ours", as, syntax.ImportPath(there), path)
		}
	}
	for as, spec := range have {
		if path := syntax.ImportPath(spec); as != "_" && as != "." && path != "C" && !uses[as] {
			changed = astutil.DeleteNamedImport(fset, file, written(spec), path) || changed
		}
	}
	if !changed {
		return text, nil
	}
	var out bytes.Buffer
	err = format.Node(&out, fset, file)
	return out.Bytes(), err
}
