package series

import (
	"fmt"
	"go/ast"
	"go/format"
	"path"
	"slices"
	"strconv"
	"strings"

	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/syntax"
)

// Edit changes a declaration of upstream's at one place. The place is told by the names that stand there, so that nothing of upstream's
// text is repeated.
type Edit struct {
	// In is the declaration's key.
	In string `yaml:"in"`
	// At is a place: "statement", "return", "call" or "condition", or the "comment" above a statement; then all names that stand
	// there; then, if there are several such places, "#" and which of them.
	At string `yaml:"at"`
	// Instead is put in its place, with what stood there for each "…"; Move is the statement before which it comes.
	Instead string `yaml:"instead"`
	Move    string `yaml:"move"`
}

// apply changes the declaration in a tree.
func (e Edit) apply(t filetree.Tree) error {
	key, err := syntax.ParseKey(e.In)
	if err != nil {
		return err
	}
	for _, name := range t.Paths() {
		if path.Dir(name) != key.Package || !syntax.IsGoFile(name) {
			continue
		}
		source, err := syntax.Parse(name, t[name])
		if err != nil {
			return err
		}
		if d := source.Decl(key.Name); d != nil {
			t[name], err = e.edited(source, d.Func)
			return err
		}
	}
	return fmt.Errorf("there is no %s", key)
}

// edited returns the text of a file whose function is changed.
func (e Edit) edited(source *syntax.File, in *ast.FuncDecl) ([]byte, error) {
	start, end, err := locate(source, in, e.At)
	if err != nil {
		return nil, err
	}
	text := strings.ReplaceAll(strings.TrimSuffix(e.Instead, "\n"), "…", string(source.Src[start:end]))
	edits := []assemble.Edit{{Start: start, End: end, Text: []byte(text)}}
	if e.Move != "" {
		target, _, err := locate(source, in, e.Move)
		if err != nil {
			return nil, err
		}
		from, to := syntax.LineStart(source.Src, start), syntax.LineEnd(source.Src, end)
		target = syntax.LineStart(source.Src, target)
		edits = []assemble.Edit{{Start: from, End: to}, {Start: target, End: target, Text: source.Src[from:to]}}
	}
	changed, err := assemble.Splice(source.Src, edits)
	if err != nil {
		return nil, err
	}
	return format.Source(changed)
}

// locate finds a place in a function.
func locate(source *syntax.File, in *ast.FuncDecl, at string) (start, end int, err error) {
	at, which, numbered := strings.Cut(at, " #")
	kind, names, _ := strings.Cut(at, " ")
	found := places(in.Body, kind, strings.Fields(names))
	if kind == "comment" {
		found = slices.DeleteFunc(found, func(n ast.Node) bool { return above(source, n) == nil })
	}
	number := 1
	if numbered {
		number, err = strconv.Atoi(which)
	}
	if err != nil || number < 1 || number > len(found) || !numbered && len(found) > 1 {
		return 0, 0, fmt.Errorf("%q is at %d places in %s", at, len(found), in.Name.Name)
	}
	node := found[number-1]
	if kind != "comment" {
		return source.Offset(node.Pos()), source.Offset(node.End()), nil
	}
	group := above(source, node)
	return source.Offset(group.Pos()), source.Offset(group.End()), nil
}

// above returns the comment that stands above a node, or nil.
func above(source *syntax.File, node ast.Node) *ast.CommentGroup {
	for _, group := range source.AST.Comments {
		if source.Line(group.End())+1 == source.Line(node.Pos()) {
			return group
		}
	}
	return nil
}

// places returns the innermost nodes of a kind in which all names stand, in order.
func places(in ast.Node, kind string, names []string) (found []ast.Node) {
	for n := range ast.Preorder(in) {
		for _, node := range ofKind(n, kind) {
			if !slices.ContainsFunc(names, func(name string) bool { return !syntax.Mentions(node, name) }) {
				found = append(found, node)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b ast.Node) int { return int(a.Pos() - b.Pos()) })
	return slices.DeleteFunc(found, func(outer ast.Node) bool {
		return slices.ContainsFunc(found, func(inner ast.Node) bool {
			return inner != outer && outer.Pos() <= inner.Pos() && inner.End() <= outer.End()
		})
	})
}

// ofKind returns what of a node is of a kind of place. A statement stands in a list of statements.
func ofKind(n ast.Node, kind string) (nodes []ast.Node) {
	var list []ast.Stmt
	switch n := n.(type) {
	case *ast.BlockStmt:
		list = n.List
	case *ast.CaseClause:
		list = n.Body
	case *ast.IfStmt:
		if kind == "condition" {
			return []ast.Node{n.Cond}
		}
	case *ast.CallExpr:
		if kind == "call" {
			return []ast.Node{n}
		}
	}
	for _, s := range list {
		if _, returns := s.(*ast.ReturnStmt); kind == "statement" || kind == "comment" || kind == "return" && returns {
			nodes = append(nodes, s)
		}
	}
	return nodes
}
