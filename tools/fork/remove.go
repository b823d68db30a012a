package fork

import (
	"go/ast"
	"slices"
	"strings"
)

// Removing is a declaration of upstream's that goes.
type Removing struct {
	Key Key
	Removal
	// Theirs are the declaration and what goes with it.
	Theirs []*Decl
	Hash   Fingerprint
}

// remove looks up a declaration that is to go, and checks what can be said before the overlay is laid over: that nothing else is done
// with it, that it stands alone, and that it is not for applications.
func (mt *matcher) remove(r Removal) error {
	key, found, err := mt.named(Remove, r.Watched)
	if err != nil || len(found) == 0 {
		return err
	}
	if found, err = mt.plan.Module.lookupWhole(key); err != nil {
		return err
	}
	before := len(mt.problems)
	fail := func(mend, format string, args ...any) {
		mt.problems.add(r.File.Path, r.Line, mend, "//fork:remove %s: "+format, append([]any{key.Name}, args...)...)
	}
	if ours, taken := mt.owner[key]; taken {
		fail("keep one of them", "the overlay has it too (%s)", ours.at())
	}
	if i := slices.IndexFunc(mt.plan.Removed, func(other Removing) bool { return other.Key == key }); i >= 0 {
		fail("keep one of them", "it is removed twice (also %s)", mt.plan.Removed[i].at())
	}
	if isPublic(key) {
		fail("keep it: applications may use it", "it is exported from %s", key.Package)
	}
	for _, d := range found {
		if d.shared > 1 {
			fail("keep it", "upstream declares %d names at once (%s)", d.shared, d.at())
		}
		if d.grouped() && inImpliedGroup(d) {
			fail("keep it", "upstream's value depends on its place in a group with iota (%s)", d.at())
		}
	}
	if len(mt.problems) == before {
		mt.plan.Removed = append(mt.plan.Removed, Removing{Key: key, Removal: r, Theirs: found, Hash: fingerprint(found...)})
	}
	return nil
}

// lookupWhole returns the declarations of a key and what cannot be there without it, in order: of a type its methods, and variables
// without a name, such as those that say which interfaces it has.
func (m *Module) lookupWhole(key Key) ([]*Decl, error) {
	p, err := m.Package(m.folderOf(key.Package))
	if err != nil {
		return nil, err
	}
	var found []*Decl
	for _, file := range p.Files {
		for _, d := range file.Decls {
			if d.Key.Package == key.Package && (d.Key == key || strings.HasPrefix(d.Key.Name, key.Name+".") || d.Key.Name == "_" && mentions(d.spec, key.Name)) {
				found = append(found, d)
			}
		}
	}
	return found, nil
}

// mentions reports whether a declaration has an identifier of this name.
func mentions(spec ast.Spec, name string) bool {
	found := false
	ast.Inspect(spec, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && id.Name == name
		return !found
	})
	return found
}

// isPublic reports whether applications can use what a key names. Tests are nobody's.
func isPublic(key Key) bool {
	receiver, name, isMethod := strings.Cut(key.Name, ".")
	if slices.Contains(strings.Split(key.Package, "/"), "internal") || isTestName(key.Name) || strings.HasSuffix(key.Package, "_test") {
		return false
	}
	return ast.IsExported(receiver) && (!isMethod || ast.IsExported(name))
}

// removeTheirs takes out of upstream's files what is removed.
func (as *assembler) removeTheirs() {
	for _, r := range as.plan.Removed {
		for _, d := range r.Theirs {
			fe := as.editsIn(d.File)
			if !slices.Contains(fe.removed, d) {
				fe.removed = append(fe.removed, d)
			}
		}
	}
	for _, name := range sortedKeys(as.theirs) {
		as.theirs[name].cutRemoved()
	}
}

// cutRemoved cuts what is removed; parentheses go with the last of their declarations.
func (fe *fileEdits) cutRemoved() {
	gone := map[*ast.GenDecl]int{}
	for _, d := range fe.removed {
		gone[d.gen]++
		switch {
		case d.gen == nil || gone[d.gen] < len(d.gen.Specs) || len(d.gen.Specs) == 1:
			fe.cuts = append(fe.cuts, cut(d))
		default:
			from := d.gen.Pos()
			if d.gen.Doc != nil {
				from = d.gen.Doc.Pos()
			}
			start, end := d.File.offset(from), d.File.offset(d.gen.End())
			fe.cuts = slices.DeleteFunc(fe.cuts, func(e edit) bool { return start <= e.start && e.end <= end+1 })
			fe.cuts = append(fe.cuts, cutLines(d.File.Src, start, end))
		}
	}
}

// empty reports whether nothing is left of a file, so that it goes as a whole.
func (fe *fileEdits) empty() bool {
	return len(fe.removed) > 0 && len(fe.removed) == len(fe.source.Decls) && fe.source.AST.Doc == nil
}

// checkRemoved looks for uses of what was removed.
func (as *assembler) checkRemoved() error {
	if len(as.plan.Removed) == 0 {
		return nil
	}
	out := &Module{Path: as.plan.Module.Path, Version: as.plan.Module.Version, Tree: as.out.Tree}
	for _, r := range as.plan.Removed {
		at, err := out.usesOf(r.Key)
		if err != nil {
			return err
		}
		if len(at) > 0 {
			as.problems.add(r.File.Path, r.Line, "remove what uses it, too, or the directive", "//fork:remove %s: it is used (%s)", r.Key.Name, strings.Join(at, ", "))
		}
	}
	return nil
}

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
	for _, ref := range (packageNamer{module: m, overlay: &Overlay{}}).imports(file) {
		if ref.path == m.Path+"/"+key.Package {
			return ref.name
		}
	}
	return "?"
}

// usesOf lists where the file uses a name: as it is, if local is empty, else as local.name; a method after any dot.
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
