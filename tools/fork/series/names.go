package series

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"

	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/syntax"
)

// nameWrapped replaces the names by which our wrappers call what they wrap, so that nothing is left of how the change was made.
func (s *Series) nameWrapped(plan *plan.Plan, t filetree.Tree) error {
	names := wrappedNames{}
	for _, touch := range plan.Touches {
		if touch.How == syntax.Wrap {
			to := s.Options.Wrapped[touch.Key.String()]
			if !token.IsIdentifier(to) {
				return fmt.Errorf("the wrapped declaration %s has no name of its own in %s/%s", touch.Key, Folder, Setup)
			}
			if err := s.free(touch.Key, to); err != nil {
				return err
			}
			names.add(touch.Key, to)
		}
	}
	for file, data := range t {
		if !syntax.IsGoFile(file) || !strings.Contains(string(data), wrapPrefix) || names[folderKey(file)] == nil {
			continue
		}
		text, err := names.apply(file, data)
		if err != nil {
			return err
		}
		t[file] = text
	}
	return nil
}

// free checks that neither upstream nor the overlay has a declaration of the name that a wrapped declaration is to have.
func (s *Series) free(wrapped syntax.Key, to string) error {
	key := syntax.Key{Package: wrapped.Package, Name: to}
	if receiver, _, isMethod := strings.Cut(wrapped.Name, "."); isMethod {
		key.Name = receiver + "." + to
	}
	theirs, err := s.plan.Module.Lookup(key)
	if err != nil {
		return err
	}
	ours := slices.ContainsFunc(s.plan.Added, func(d *plan.Decl) bool { return d.Key == key })
	if len(theirs) > 0 || ours {
		return fmt.Errorf("the wrapped declaration %s cannot be named %s: there is one of this name", wrapped, to)
	}
	return nil
}

// wrapPrefix begins the names of wrapped declarations.
const wrapPrefix = "upstream"

// wrappedNames holds by folder, name and receiver what a wrapped declaration is to be called.
type wrappedNames map[string]map[string]map[string]string

// folderKey returns the folder of a file, as wrappedNames has it.
func folderKey(file string) string { return path.Dir(file) }

func (w wrappedNames) add(key syntax.Key, to string) {
	receiver, name, isMethod := strings.Cut(key.Name, ".")
	if !isMethod {
		receiver, name = "", receiver
	}
	if w[key.Package] == nil {
		w[key.Package] = map[string]map[string]string{}
	}
	from := plan.UpstreamName(name)
	if w[key.Package][from] == nil {
		w[key.Package][from] = map[string]string{}
	}
	w[key.Package][from][receiver] = to
}

// apply replaces the names in a file.
func (w wrappedNames) apply(file string, data []byte) ([]byte, error) {
	source, err := syntax.Parse(file, data)
	if err != nil {
		return nil, err
	}
	var edits []assemble.Edit
	for _, decl := range source.AST.Decls {
		receiver := ""
		fn, isFunc := decl.(*ast.FuncDecl)
		if isFunc && fn.Recv != nil && len(fn.Recv.List) == 1 {
			receiver = syntax.ReceiverName(fn.Recv.List[0].Type)
		}
		if isFunc {
			edits = append(edits, w.comment(source, fn, receiver)...)
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			if to := w.of(folderKey(file), id.Name, receiver); to != "" {
				at := source.Offset(id.Pos())
				edits = append(edits, assemble.Edit{Start: at, End: at + len(id.Name), Text: []byte(to)})
			}
			return true
		})
	}
	text, err := assemble.Splice(data, edits)
	return text, err
}

// comment renames the function at the beginning of its comment.
func (w wrappedNames) comment(source *syntax.File, fn *ast.FuncDecl, receiver string) []assemble.Edit {
	to := w[folderKey(source.Path)][fn.Name.Name][receiver]
	if to == "" || fn.Doc == nil {
		return nil
	}
	first, isLine := strings.CutPrefix(fn.Doc.List[0].Text, "// ")
	word, _, _ := strings.Cut(first, " ")
	if !isLine || plan.UpstreamName(word) != fn.Name.Name {
		return nil
	}
	at := source.Offset(fn.Doc.Pos()) + len("// ")
	return []assemble.Edit{{Start: at, End: at + len(word), Text: []byte(to)}}
}

// of returns the name of what a declaration calls by name: that of its own receiver, or the only one of this name.
func (w wrappedNames) of(folder, name, receiver string) string {
	byReceiver := w[folder][name]
	if to, ok := byReceiver[receiver]; ok {
		return to
	}
	if len(byReceiver) == 1 {
		for _, to := range byReceiver {
			return to
		}
	}
	return ""
}
