package assemble

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"

	"mongofork/tools/fork/syntax"
)

// pruneImports returns the edits that remove the imports which only the cut
// ranges used, except those to keep for text that is inserted. Imports named
// "_", "." or "C" have their own effects.
func pruneImports(names syntax.Names, s *syntax.File, cuts []Edit, keep []syntax.Import) []Edit {
	uses := syntax.PackageUses(s)
	outside := func(at int) bool {
		return !slices.ContainsFunc(cuts, func(e Edit) bool { return e.Start <= at && at < e.End })
	}
	drop := map[*ast.ImportSpec]bool{}
	for _, ref := range names.Imports(s) {
		if ref.Name == "_" || ref.Name == "." || ref.Path == "C" {
			continue
		}
		if kept, ok := syntax.ImportNamed(keep, ref.Name); ok && kept.Path == ref.Path {
			continue
		}
		if at := uses[ref.Name]; len(at) > 0 && !slices.ContainsFunc(at, outside) {
			drop[ref.Spec] = true
		}
	}
	return dropImports(s, drop)
}

// dropImports returns the edits that remove import specs, or a whole import
// declaration when nothing of it is left.
func dropImports(s *syntax.File, drop map[*ast.ImportSpec]bool) []Edit {
	var edits []Edit
	for _, decl := range s.AST.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || len(gen.Specs) == 0 {
			continue
		}
		var cuts []Edit
		for _, spec := range gen.Specs {
			if spec, ok := spec.(*ast.ImportSpec); ok && drop[spec] {
				from := spec.Pos()
				if spec.Doc != nil {
					from = spec.Doc.Pos()
				}
				cuts = append(cuts, CutLines(s.Src, s.Offset(from), s.Offset(spec.End())))
			}
		}
		if len(cuts) == len(gen.Specs) {
			from := gen.Pos()
			if gen.Doc != nil {
				from = gen.Doc.Pos()
			}
			cuts = []Edit{CutLines(s.Src, s.Offset(from), s.Offset(gen.End()))}
		}
		edits = append(edits, cuts...)
	}
	return edits
}

// AddImports returns the edits that give a file the imports which it lacks. An
// error says that a name means something else there.
func AddImports(names syntax.Names, s *syntax.File, needed []syntax.Import) ([]Edit, error) {
	have := names.Imports(s)
	var edits []Edit
	for i, ref := range needed {
		if slices.ContainsFunc(needed[:i], func(o syntax.Import) bool { return o.Name == ref.Name && o.Path == ref.Path }) {
			continue
		}
		there, ok := syntax.ImportNamed(have, ref.Name)
		if ok && there.Path == ref.Path {
			continue
		}
		if ok {
			return nil, fmt.Errorf("%s means %q there, but %q in ours", ref.Name, there.Path, ref.Path)
		}
		edits = append(edits, insertImport(s, ref))
	}
	return edits, nil
}

// insertImport puts an import at its sorted place in the group of its kind: the
// standard library's packages are separate from all others.
func insertImport(s *syntax.File, ref syntax.Import) Edit {
	line := strconv.Quote(ref.Path)
	if ref.Spec.Name != nil {
		line = ref.Spec.Name.Name + " " + line
	}
	block := importBlock(s)
	if block == nil {
		at := syntax.LineEnd(s.Src, s.Offset(s.AST.Name.End()))
		if decls := s.AST.Decls; len(decls) > 0 && len(s.AST.Imports) > 0 {
			at = syntax.LineStart(s.Src, s.Offset(s.AST.Imports[0].Pos()))
			return Edit{Start: at, End: at, Text: []byte("import " + line + "\n")}
		}
		return Edit{Start: at, End: at, Text: []byte("\nimport " + line + "\n")}
	}
	var last *ast.ImportSpec
	for _, spec := range block.Specs {
		spec := spec.(*ast.ImportSpec)
		if p, _ := strconv.Unquote(spec.Path.Value); isStandard(p) == isStandard(ref.Path) {
			if p > ref.Path {
				at := syntax.LineStart(s.Src, s.Offset(specStart(spec)))
				return Edit{Start: at, End: at, Text: []byte("\t" + line + "\n")}
			}
			last = spec
		}
	}
	if last != nil {
		at := syntax.LineEnd(s.Src, s.Offset(last.End()))
		return Edit{Start: at, End: at, Text: []byte("\t" + line + "\n")}
	}
	if isStandard(ref.Path) {
		at := syntax.LineEnd(s.Src, s.Offset(block.Lparen))
		return Edit{Start: at, End: at, Text: []byte("\t" + line + "\n\n")}
	}
	at := syntax.LineStart(s.Src, s.Offset(block.Rparen))
	return Edit{Start: at, End: at, Text: []byte("\n\t" + line + "\n")}
}

func specStart(spec *ast.ImportSpec) token.Pos {
	if spec.Doc != nil {
		return spec.Doc.Pos()
	}
	return spec.Pos()
}

// importBlock returns the file's first parenthesised import declaration.
func importBlock(s *syntax.File) *ast.GenDecl {
	for _, decl := range s.AST.Decls {
		if gen, ok := decl.(*ast.GenDecl); ok && gen.Lparen.IsValid() && len(gen.Specs) > 0 {
			if _, ok := gen.Specs[0].(*ast.ImportSpec); ok {
				return gen
			}
		}
	}
	return nil
}

// isStandard reports whether an import path is one of the standard library's:
// only these have no dot in their first element.
func isStandard(p string) bool {
	first, _, _ := strings.Cut(p, "/")
	return !strings.Contains(first, ".")
}

// UnusedImports returns the edits that remove the imports which the file does not use.
func UnusedImports(names syntax.Names, s *syntax.File) []Edit {
	uses, drop := syntax.PackageUses(s), map[*ast.ImportSpec]bool{}
	for _, ref := range names.Imports(s) {
		if ref.Name != "_" && ref.Name != "." && ref.Path != "C" && len(uses[ref.Name]) == 0 {
			drop[ref.Spec] = true
		}
	}
	return dropImports(s, drop)
}
