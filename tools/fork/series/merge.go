package series

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/syntax"
)

// merger combines a wrapper and the function that it wraps into one function. What the wrapper does before the call stands at the
// beginning, and what it does after the call is deferred there. Both texts stay as they are, so both have to use the same names.
type merger struct {
	file         *syntax.File
	ours, theirs *ast.FuncDecl
	parameters   []string // of ours, the receiver first

	before, after *ast.BlockStmt // what ours does before the call and after
	at            ast.Stmt       // the statement with the call
	call          *ast.CallExpr
	results       []string // what ours calls the results, if it does something with them
	named         bool     // theirs calls them so already
	changed       string   // the parameter that the call passes on with another value
	value         ast.Expr
}

// merged returns both functions as one; ok is false if they have to stay two.
func merged(file *syntax.File, ours, theirs *ast.FuncDecl) (text string, ok bool) {
	m := &merger{file: file, ours: ours, theirs: theirs, parameters: parameters(ours.Recv, ours.Type.Params)}
	if !m.shape() || !m.agree() || !m.keepsMeaning() {
		return "", false
	}
	added := m.text(ours.Body.Lbrace+1, m.at.Pos())
	if m.changed != "" {
		added += m.changed + " = " + m.text(m.value.Pos(), m.value.End()) + "\n"
	}
	added += m.deferred()
	if strings.TrimSpace(added) == "" { // ours has only a comment
		added = ""
	}
	return m.head() + "{" + added + m.text(theirs.Body.Lbrace+1, theirs.Body.End()), true
}

// shape finds the call, what is before it and what is after.
func (m *merger) shape() bool {
	called, list := m.theirs.Name.Name, m.ours.Body.List
	calls := func(s ast.Stmt) bool { return syntax.Mentions(s, called) }
	i := slices.IndexFunc(list, calls)
	if i < 0 || slices.ContainsFunc(list[i+1:], calls) {
		return false
	}
	m.before, m.at, m.after = &ast.BlockStmt{List: list[:i]}, list[i], &ast.BlockStmt{List: list[i+1:]}
	var is []ast.Expr
	switch s := m.at.(type) {
	case *ast.ReturnStmt:
		is = s.Results
	case *ast.ExprStmt:
		if len(m.after.List) > 0 && m.theirs.Type.Results != nil {
			return false
		}
		is = []ast.Expr{s.X}
	case *ast.AssignStmt:
		if s.Tok == token.DEFINE {
			is, m.results = s.Rhs, namesOf(s.Lhs)
		}
	}
	if m.ours.Recv != nil {
		called = m.parameters[0] + "." + called
	}
	if len(is) != 1 || common(parameters(m.ours.Type.Results), identifiers(m.before)) {
		return false
	}
	m.call, _ = is[0].(*ast.CallExpr)
	return m.call != nil && m.text(m.call.Fun.Pos(), m.call.Fun.End()) == called
}

// agree reports whether what ours uses has the same name in both functions, and finds what is passed on with another value.
func (m *merger) agree() bool {
	used := append(identifiers(m.before), identifiers(m.after)...)
	first := len(m.parameters) - len(m.call.Args)
	for i, arg := range m.call.Args {
		name := m.parameters[first+i]
		if id, ok := arg.(*ast.Ident); ok && id.Name == name {
			continue
		}
		if m.changed != "" {
			return false
		}
		m.changed, m.value, used = name, arg, append(append(used, name), identifiers(arg)...)
	}
	theirs := parameters(m.theirs.Recv, m.theirs.Type.Params)
	for i, name := range m.parameters {
		if theirs[i] != name && slices.Contains(used, name) {
			return false
		}
	}
	if len(m.results) == 0 {
		return true
	}
	m.named = slices.Equal(m.results, parameters(m.theirs.Type.Results))
	return m.named || m.theirs.Type.Results.List[0].Names == nil
}

// keepsMeaning reports whether every name means the same in the combined function as in the two.
func (m *merger) keepsMeaning() bool {
	body, before, after := identifiers(m.theirs.Body), declared(outside(m.before)), identifiers(m.after)
	if common(before, slices.Concat(body, m.results)) || common(declared(m.after), slices.Concat(m.parameters, m.results, before)) {
		return false
	}
	for _, name := range append(assigned(m.theirs.Body), m.changed) {
		if slices.Contains(m.parameters, name) && slices.Contains(after, name) {
			return false
		}
	}
	if m.named {
		return true
	}
	taken := slices.DeleteFunc(body, func(name string) bool { return name == "err" }) // no package is called so
	return !common(m.results, slices.Concat(m.parameters, taken, declared(outside(m.theirs.Body)), []string{"_"}))
}

// outside returns the statements of a block that declare names in it, not in blocks inside.
func outside(block *ast.BlockStmt) *ast.BlockStmt {
	var list []ast.Stmt
	for _, s := range block.List {
		switch s.(type) {
		case *ast.AssignStmt, *ast.DeclStmt:
			list = append(list, s)
		}
	}
	return &ast.BlockStmt{List: list}
}

func (m *merger) text(from, to token.Pos) string { return string(m.file.Text(from, to)) }

// head returns upstream's comment and then ours, and upstream's head with our name, and with the results' names.
func (m *merger) head() string {
	var docs []string
	for _, f := range []*ast.FuncDecl{m.theirs, m.ours} {
		if f.Doc != nil {
			docs = append(docs, m.text(f.Doc.Pos(), f.Doc.End())+"\n")
		}
	}
	name, results := m.theirs.Name, m.text(m.theirs.Type.Params.End(), m.theirs.Body.Lbrace)
	if len(m.results) > 0 && !m.named {
		var list []string
		for i, result := range m.theirs.Type.Results.List {
			list = append(list, m.results[i]+" "+m.text(result.Pos(), result.End()))
		}
		results = " (" + strings.Join(list, ", ") + ") "
	}
	return strings.Join(docs, "//\n") + m.text(m.theirs.Type.Func, name.Pos()) + m.ours.Name.Name +
		m.text(name.End(), m.theirs.Type.Params.End()) + results
}

// deferred returns what ours does after the call, as a deferred function.
func (m *merger) deferred() string {
	if len(m.after.List) == 0 {
		return ""
	}
	start, end := m.file.Offset(m.at.End()), m.file.Offset(m.ours.Body.Rbrace)
	spliced, err := assemble.Splice(m.file.Src[:end], m.returns())
	if err != nil {
		panic(err) // statements do not overlap
	}
	text := strings.TrimSpace(string(spliced[start:]))
	if strings.Contains(text, "\n") {
		text = "\n" + text + "\n"
	}
	return "defer func() {" + text + "}()\n"
}

// returns gives the named results the values that ours returns after the call.
func (m *merger) returns() (edits []assemble.Edit) {
	last := m.ours.Body.List[len(m.ours.Body.List)-1]
	ast.Inspect(m.after, func(n ast.Node) bool {
		if _, ok := n.(*ast.FuncLit); ok {
			return false
		}
		s, ok := n.(*ast.ReturnStmt)
		if !ok {
			return true
		}
		var left, right []string
		for i, result := range s.Results {
			if value := m.text(result.Pos(), result.End()); value != m.results[i] {
				left, right = append(left, m.results[i]), append(right, value)
			}
		}
		text := ""
		if len(left) > 0 {
			text = strings.Join(left, ", ") + " = " + strings.Join(right, ", ")
		}
		if s != last {
			text += "\nreturn"
		}
		edits = append(edits, assemble.Edit{Start: m.file.Offset(s.Pos()), End: m.file.Offset(s.End()),
			Text: []byte(strings.TrimSpace(text))})
		return true
	})
	return edits
}

// parameters returns the names in lists of parameters or results; "_" for one without a name.
func parameters(lists ...*ast.FieldList) (all []string) {
	for _, list := range lists {
		if list == nil {
			continue
		}
		for _, field := range list.List {
			for _, name := range field.Names {
				all = append(all, name.Name)
			}
			if len(field.Names) == 0 {
				all = append(all, "_")
			}
		}
	}
	return all
}

// identifiers returns the names in a node, without those of fields and methods.
func identifiers(in ast.Node) (all []string) {
	fields := map[ast.Node]bool{}
	for n := range ast.Preorder(in) {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			fields[n.Sel] = true
		case *ast.KeyValueExpr:
			fields[n.Key] = true
		case *ast.Ident:
			if !fields[n] && n.Name != "_" {
				all = append(all, n.Name)
			}
		}
	}
	return all
}

// declared returns the names in a node that are declared in it, those in blocks inside, too.
func declared(in ast.Node) (all []string) {
	for n := range ast.Preorder(in) {
		if id, ok := n.(*ast.Ident); ok && id.Obj != nil && id.Obj.Pos() == id.Pos() {
			all = append(all, id.Name)
		}
	}
	return all
}

// assigned returns the names that are assigned in a node, or whose address is taken.
func assigned(in ast.Node) (all []string) {
	for n := range ast.Preorder(in) {
		switch n := n.(type) {
		case *ast.AssignStmt:
			all = append(all, namesOf(n.Lhs)...)
		case *ast.IncDecStmt:
			all = append(all, namesOf([]ast.Expr{n.X})...)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				all = append(all, namesOf([]ast.Expr{n.X})...)
			}
		}
	}
	return all
}

// namesOf returns those of the expressions that are just a name.
func namesOf(list []ast.Expr) (all []string) {
	for _, x := range list {
		if id, ok := x.(*ast.Ident); ok {
			all = append(all, id.Name)
		}
	}
	return all
}

func common(a, b []string) bool {
	return slices.ContainsFunc(a, func(name string) bool { return slices.Contains(b, name) })
}
