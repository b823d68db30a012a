package layer

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"

	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/syntax"
)

// apply makes an edit in a tree.
func apply(e plan.Edit, t filetree.Tree) error {
	function := []byte(e.In.Name[strings.LastIndex(e.In.Name, ".")+1:])
	for _, name := range t.Paths() {
		if path.Dir(name) != e.In.Package || !syntax.IsGoFile(name) || !bytes.Contains(t[name], function) {
			continue
		}
		source, err := syntax.Parse(name, t[name])
		if err != nil {
			return err
		}
		if d := source.Decl(e.In.Name); d != nil && d.Func != nil && d.Func.Body != nil {
			text, err := edited(e, source, d.Func)
			if err == nil {
				t[name] = text
			}
			return err
		}
	}
	return fmt.Errorf("there is no function %s with a body", e.In)
}

// edited returns the text of a file whose function is changed.
func edited(e plan.Edit, source *syntax.File, in *ast.FuncDecl) ([]byte, error) {
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
	found := places(source, in, kind, strings.Fields(names))
	number := 1
	if numbered {
		number, err = strconv.Atoi(which)
	}
	if err != nil || number < 1 || number > len(found) || !numbered && len(found) > 1 {
		return 0, 0, fmt.Errorf("%q is at %d places in %s", at, len(found), in.Name.Name)
	}
	return source.Offset(found[number-1].Pos()), source.Offset(found[number-1].End()), nil
}

// places returns the innermost nodes of a kind in which all names stand, in order, or the comments above them.
func places(source *syntax.File, in *ast.FuncDecl, kind string, names []string) (found []ast.Node) {
	function, _ := inspector.New([]*ast.File{source.AST}).Root().FindNode(in.Body)
	for c := range function.Preorder() {
		missing := func(name string) bool { return !syntax.Mentions(c.Node(), name) }
		if isPlace(c, kind) && !slices.ContainsFunc(names, missing) {
			found = append(found, c.Node())
		}
	}
	found = slices.DeleteFunc(found, func(outer ast.Node) bool {
		return slices.ContainsFunc(found, func(inner ast.Node) bool {
			return inner != outer && outer.Pos() <= inner.Pos() && inner.End() <= outer.End()
		})
	})
	if kind != "comment" {
		return found
	}
	var comments []ast.Node
	for _, node := range found {
		for _, group := range source.AST.Comments {
			if source.Line(group.End())+1 == source.Line(node.Pos()) {
				comments = append(comments, group)
			}
		}
	}
	return comments
}

// isPlace reports whether a node is a place of a kind. A statement stands in a list of statements.
func isPlace(c inspector.Cursor, kind string) bool {
	_, call := c.Node().(*ast.CallExpr)
	_, returns := c.Node().(*ast.ReturnStmt)
	switch c.ParentEdgeKind() {
	case edge.BlockStmt_List, edge.CaseClause_Body:
		return kind == "statement" || kind == "comment" || kind == "return" && returns
	case edge.IfStmt_Cond:
		return kind == "condition" || kind == "call" && call
	}
	return kind == "call" && call
}
