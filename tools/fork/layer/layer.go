// Package layer lays an overlay over a module, layer by layer. Each layer is matched with the result of the layers before it, so it can
// wrap or replace a function of upstream's that an earlier one wrapped or replaced.
package layer

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"

	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
	"mongofork/tools/fork/upstream"
)

// Lay returns what an overlay changes in a module, and the resulting tree; if a layer has problems, which are a problem.List, the tree
// before it.
func Lay(m *upstream.Module, o plan.Overlay) (*plan.Plan, filetree.Tree, error) {
	laid, err := On(m).Lay(slices.DeleteFunc(slices.Clone(o), func(layer *plan.Layer) bool { return layer.Alone })...)
	laid.Plan.All = o
	return laid.Plan, laid.Module.Tree, err
}

// Laid is a module with some layers.
type Laid struct {
	Plan   *plan.Plan       // what the layers change in the module
	Module *upstream.Module // the result
}

// On is a module before the first layer.
func On(m *upstream.Module) *Laid {
	pristine := *m
	pristine.Tree = assemble.Pristine(m)
	return &Laid{Plan: &plan.Plan{Module: m}, Module: &pristine}
}

// Lay returns the module with more layers. If a layer has problems, Lay does not try the later ones, and only the Plan is of use.
func (l *Laid) Lay(layers ...*plan.Layer) (*Laid, error) {
	p := *l.Plan
	p.Overlay, p.Touches, p.Added = slices.Clone(p.Overlay), slices.Clone(p.Touches), slices.Clone(p.Added)
	next := &Laid{Plan: &p, Module: l.Module}
	for _, layer := range layers {
		if err := next.add(layer); err != nil {
			return next, err
		}
	}
	return next, nil
}

// add lays one layer. Its error is a problem.List if the layer does not fit.
func (l *Laid) add(layer *plan.Layer) error {
	if err := l.rename(layer); err != nil {
		return err
	}
	p, problems := plan.Match(l.Module, layer)
	earlier := l.Plan.Touches
	for _, t := range p.Touches {
		l.refuse(t, earlier, &problems)
	}
	l.Plan.Overlay = append(l.Plan.Overlay, layer)
	l.Plan.Touches, l.Plan.Added = append(l.Plan.Touches, p.Touches...), append(l.Plan.Added, p.Added...)
	if err := problem.Join(problems); err != nil {
		return err
	}
	tree, err := assemble.Build(p)
	if err != nil {
		return err
	}
	for _, e := range layer.Edits {
		from := path.Join(layer.Name, plan.EditsFile)
		if err := apply(e, tree); err != nil {
			problems.Add(from, e.Line, "name one place that exists", "%v", err)
		}
		edit := plan.Touch{How: syntax.Edit, Key: e.In, File: &syntax.File{From: from}, Line: e.Line, All: l.Module.Lookup(e.In)}
		l.refuse(edit, earlier, &problems)
		l.Plan.Touches = append(l.Plan.Touches, edit)
	}
	if err := problem.Join(problems); err != nil {
		return err
	}
	l.Module, err = l.Module.With(tree)
	return err
}

// refuse adds a problem if a layer changes what another one has written. It may add fields to a struct, and wrap or replace a function of
// upstream's again, of which all keep the contract.
func (l *Laid) refuse(t plan.Touch, earlier []plan.Touch, problems *problem.List) {
	const mend = "let the other layer's code call this one's, by a function that may be nil, a value, or an interface"
	isText := t.How == syntax.Edit || t.How == syntax.Extend && t.Ours.Func != nil
	ours := slices.IndexFunc(earlier, func(e plan.Touch) bool {
		return isText && e.Key == t.Key && (e.How == syntax.Replace || e.How == syntax.Wrap)
	})
	switch {
	case len(t.All) == 0: // there is no such declaration, as another problem says
	case ours >= 0:
		other := earlier[ours]
		problems.Add(t.File.From, t.Line, mend, "%s %s: its text is that of another layer (%s:%d)", t.How, t.Key, other.File.From,
			other.Line)
	case len(l.Plan.Theirs(t)) == 0 && (isText || t.How != syntax.Extend):
		problems.Add(t.File.From, t.Line, mend, "%s %s: another layer has added it (%s)", t.How, t.Key, syntax.Places(t.All))
	}
}

// rename gives what earlier layers have wrapped another name, upstreamConnect1 for upstreamConnect, where a layer wraps the same function
// again, in all files of the folder. Such names are only the builder's, so that they mean the same wherever they stand.
func (l *Laid) rename(layer *plan.Layer) (err error) {
	for _, f := range layer.Files {
		for _, t := range f.Touches {
			name := t.Wrapped
			if name == "" || len(l.Module.Lookup(plan.WrappedKey(t))) == 0 {
				continue
			}
			tree, free := maps.Clone(l.Module.Tree), name
			lacks := func(f *syntax.File) bool { return !bytes.Contains(f.Src, []byte(free)) }
			files := slices.DeleteFunc(slices.Clone(l.Module.Files(path.Dir(f.Path))), lacks)
			for i := 1; slices.ContainsFunc(files, func(f *syntax.File) bool { return !lacks(f) }); i++ {
				free = fmt.Sprint(name, i)
			}
			for _, f := range files {
				tree[f.Path] = regexp.MustCompile(`\b`+name+`\b`).ReplaceAll(f.Src, []byte(free))
			}
			for i, earlier := range l.Plan.Touches {
				if earlier.Wrapped == name && path.Dir(earlier.Theirs.File.Path) == path.Dir(f.Path) {
					l.Plan.Touches[i].Wrapped = free
				}
			}
			if l.Module, err = l.Module.With(tree); err != nil {
				return err
			}
		}
	}
	return nil
}

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
