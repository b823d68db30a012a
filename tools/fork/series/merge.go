package series

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/token"
	"maps"
	"slices"

	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/syntax"
)

// merge moves files of ours into those of the folder where upstream would have them.
func (s *Series) merge(t filetree.Tree) error {
	for _, from := range slices.Sorted(maps.Keys(s.Options.Merged)) {
		to := s.Options.Merged[from]
		if t[from] == nil {
			continue
		}
		if t[to] == nil {
			return fmt.Errorf("%s cannot be merged into %s: there is no such file", from, to)
		}
		merged, err := s.merged(from, t[from], to, t[to])
		if err != nil {
			return fmt.Errorf("%s cannot be merged into %s: %w", from, to, err)
		}
		delete(t, from)
		t[to] = merged
	}
	return nil
}

// merged returns a file with the declarations of another at its end, and the imports that they need.
func (s *Series) merged(from string, ours []byte, to string, theirs []byte) ([]byte, error) {
	source, err := syntax.Parse(from, ours)
	if err != nil {
		return nil, err
	}
	target, err := syntax.Parse(to, theirs)
	if err != nil {
		return nil, err
	}
	if source.Constraint != target.Constraint || source.AST.Name.Name != target.AST.Name.Name {
		return nil, fmt.Errorf("they differ in package or build constraints")
	}
	names := plan.PackageNames(s.plan.Module, s.plan.Overlay)
	imports, err := assemble.AddImports(names, target, names.Imports(source))
	if err != nil {
		return nil, err
	}
	text, err := assemble.Splice(theirs, imports)
	if err != nil {
		return nil, err
	}
	body := bytes.TrimSpace(ours[source.Offset(endOfImports(source.AST)):])
	return format.Source(slices.Concat(bytes.TrimRight(text, "\n"), []byte("\n\n"), body, []byte("\n")))
}

// endOfImports is where the declarations of a file begin, with the comments before them.
func endOfImports(file *ast.File) token.Pos {
	end := file.Name.End()
	for _, decl := range file.Decls {
		if gen, ok := decl.(*ast.GenDecl); ok && gen.Tok == token.IMPORT {
			end = gen.End()
		}
	}
	return end
}
