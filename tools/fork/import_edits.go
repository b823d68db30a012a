package fork

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// pruneImports returns the edits that remove the imports which only the cut
// ranges used, except those to keep for text that is inserted. Imports named
// "_", "." or "C" have their own effects.
func (n packageNamer) pruneImports(s *SourceFile, cuts []edit, keep []importRef) []edit {
	uses := packageUses(s)
	outside := func(at int) bool {
		return !slices.ContainsFunc(cuts, func(e edit) bool { return e.start <= at && at < e.end })
	}
	drop := map[*ast.ImportSpec]bool{}
	for _, ref := range n.imports(s) {
		if ref.name == "_" || ref.name == "." || ref.path == "C" {
			continue
		}
		if kept, ok := byName(keep, ref.name); ok && kept.path == ref.path {
			continue
		}
		if at := uses[ref.name]; len(at) > 0 && !slices.ContainsFunc(at, outside) {
			drop[ref.spec] = true
		}
	}
	return dropImports(s, drop)
}

// dropImports returns the edits that remove import specs, or a whole import
// declaration when nothing of it is left.
func dropImports(s *SourceFile, drop map[*ast.ImportSpec]bool) []edit {
	var edits []edit
	for _, decl := range s.AST.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || len(gen.Specs) == 0 {
			continue
		}
		var cuts []edit
		for _, spec := range gen.Specs {
			if spec, ok := spec.(*ast.ImportSpec); ok && drop[spec] {
				from := spec.Pos()
				if spec.Doc != nil {
					from = spec.Doc.Pos()
				}
				cuts = append(cuts, cutLines(s.Src, s.offset(from), s.offset(spec.End())))
			}
		}
		if len(cuts) == len(gen.Specs) {
			from := gen.Pos()
			if gen.Doc != nil {
				from = gen.Doc.Pos()
			}
			cuts = []edit{cutLines(s.Src, s.offset(from), s.offset(gen.End()))}
		}
		edits = append(edits, cuts...)
	}
	return edits
}

// addImports returns the edits that give a file the imports which it lacks. An
// error says that a name means something else there.
func (n packageNamer) addImports(s *SourceFile, needed []importRef) ([]edit, error) {
	have := n.imports(s)
	var edits []edit
	for i, ref := range needed {
		if slices.ContainsFunc(needed[:i], func(o importRef) bool { return o.name == ref.name && o.path == ref.path }) {
			continue
		}
		there, ok := byName(have, ref.name)
		if ok && there.path == ref.path {
			continue
		}
		if ok {
			return nil, fmt.Errorf("%s means %q there, but %q in ours", ref.name, there.path, ref.path)
		}
		edits = append(edits, insertImport(s, ref))
	}
	return edits, nil
}

// insertImport puts an import at its sorted place in the group of its kind: the
// standard library's packages are separate from all others.
func insertImport(s *SourceFile, ref importRef) edit {
	line := strconv.Quote(ref.path)
	if ref.spec.Name != nil {
		line = ref.spec.Name.Name + " " + line
	}
	block := importBlock(s)
	if block == nil {
		at := lineEnd(s.Src, s.offset(s.AST.Name.End()))
		if decls := s.AST.Decls; len(decls) > 0 && len(s.AST.Imports) > 0 {
			at = lineStart(s.Src, s.offset(s.AST.Imports[0].Pos()))
			return edit{start: at, end: at, text: []byte("import " + line + "\n")}
		}
		return edit{start: at, end: at, text: []byte("\nimport " + line + "\n")}
	}
	var last *ast.ImportSpec
	for _, spec := range block.Specs {
		spec := spec.(*ast.ImportSpec)
		if p, _ := strconv.Unquote(spec.Path.Value); isStandard(p) == isStandard(ref.path) {
			if p > ref.path {
				at := lineStart(s.Src, s.offset(specStart(spec)))
				return edit{start: at, end: at, text: []byte("\t" + line + "\n")}
			}
			last = spec
		}
	}
	if last != nil {
		at := lineEnd(s.Src, s.offset(last.End()))
		return edit{start: at, end: at, text: []byte("\t" + line + "\n")}
	}
	if isStandard(ref.path) {
		at := lineEnd(s.Src, s.offset(block.Lparen))
		return edit{start: at, end: at, text: []byte("\t" + line + "\n\n")}
	}
	at := lineStart(s.Src, s.offset(block.Rparen))
	return edit{start: at, end: at, text: []byte("\n\t" + line + "\n")}
}

func specStart(spec *ast.ImportSpec) token.Pos {
	if spec.Doc != nil {
		return spec.Doc.Pos()
	}
	return spec.Pos()
}

// importBlock returns the file's first parenthesised import declaration.
func importBlock(s *SourceFile) *ast.GenDecl {
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

// unusedImports returns the edits that remove the imports which the file does not use.
func (n packageNamer) unusedImports(s *SourceFile) []edit {
	uses, drop := packageUses(s), map[*ast.ImportSpec]bool{}
	for _, ref := range n.imports(s) {
		if ref.name != "_" && ref.name != "." && ref.path != "C" && len(uses[ref.name]) == 0 {
			drop[ref.spec] = true
		}
	}
	return dropImports(s, drop)
}
