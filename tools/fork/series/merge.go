package series

import (
	"go/ast"
	"go/token"
	"slices"

	"mongofork/tools/fork/syntax"
)

// merger makes one function of a wrapper and of what it wraps: what the wrapper does before stands at the beginning, and what it does
// after is deferred there.
type merger struct {
	file         *syntax.File
	ours, theirs *ast.FuncDecl
	called       string // the name of what is wrapped

	before   []ast.Stmt
	call     *ast.CallExpr
	at       ast.Stmt // the statement with the call
	after    []ast.Stmt
	results  []string          // what ours calls the call's results, if it does something with them
	assigned map[string]string // parameters that the call passes on with other values
	renamed  map[string]string // what is ours, to what it is called in upstream's function
}

// merged returns both functions as one; ok is false if they have to stay two.
func merged(file *syntax.File, ours, theirs *ast.FuncDecl) (text string, ok bool) {
	m := &merger{file: file, ours: ours, theirs: theirs, called: theirs.Name.Name,
		assigned: map[string]string{}, renamed: map[string]string{}}
	if !m.shape() || !m.arguments() || !m.nameResults() || !m.keepsMeaning() {
		return "", false
	}
	body := m.file.Text(theirs.Body.Lbrace+1, theirs.Body.End())
	return m.doc() + m.head() + "{" + m.start() + m.deferred() + string(body), true
}

// shape finds the call, what is before it and what is after.
func (m *merger) shape() bool {
	list := m.ours.Body.List
	i := slices.IndexFunc(list, func(s ast.Stmt) bool { return m.calls(s) })
	if i < 0 || slices.ContainsFunc(list[i+1:], func(s ast.Stmt) bool { return m.calls(s) }) {
		return false
	}
	m.before, m.at, m.after = list[:i], list[i], list[i+1:]
	switch s := m.at.(type) {
	case *ast.ReturnStmt:
		return len(s.Results) == 1 && m.isCall(s.Results[0])
	case *ast.ExprStmt:
		return m.isCall(s.X)
	case *ast.AssignStmt:
		return m.defines(s)
	}
	return false
}

// calls reports whether what is wrapped is called somewhere in a node.
func (m *merger) calls(n ast.Node) bool {
	return slices.Contains(identifiers(n, true), m.called)
}

// isCall takes an expression as the call, if it is.
func (m *merger) isCall(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		ok = fun.Name == m.called
	case *ast.SelectorExpr:
		receiver, plain := fun.X.(*ast.Ident)
		ok = fun.Sel.Name == m.called && plain && slices.Contains(parameterNames(m.ours.Recv), receiver.Name)
	default:
		ok = false
	}
	if ok {
		m.call = call
	}
	return ok
}

// defines takes the call whose results get names.
func (m *merger) defines(s *ast.AssignStmt) bool {
	for _, left := range s.Lhs {
		id, ok := left.(*ast.Ident)
		if !ok {
			return false
		}
		m.results = append(m.results, id.Name)
	}
	return s.Tok == token.DEFINE && len(s.Rhs) == 1 && m.isCall(s.Rhs[0])
}

// arguments finds what is passed on with another value, and what parameters are called in upstream's function.
func (m *merger) arguments() bool {
	for _, list := range [][2]*ast.FieldList{{m.ours.Recv, m.theirs.Recv}, {m.ours.Type.Params, m.theirs.Type.Params}} {
		ours, theirs := parameterNames(list[0]), parameterNames(list[1])
		for i, name := range ours {
			switch {
			case i < len(theirs) && theirs[i] != "_":
				m.renamed[name] = theirs[i]
			case slices.Contains(used(slices.Concat(m.before, m.after)), name): // more than passed on
				return false
			}
		}
	}
	ours := parameterNames(m.ours.Type.Params)
	for i, arg := range m.call.Args {
		if id, ok := arg.(*ast.Ident); ok && id.Name == ours[i] {
			continue
		}
		if m.renamed[ours[i]] == "" {
			return false
		}
		m.assigned[ours[i]] = m.edited(arg.Pos(), arg.End(), nil)
	}
	return len(m.assigned) < 2
}

// keepsMeaning reports whether no name means something else in one function than in two.
func (m *merger) keepsMeaning() bool {
	body := identifiers(m.theirs.Body, false)
	parameters := slices.Concat(parameterNames(m.ours.Recv), parameterNames(m.ours.Type.Params))
	before := slices.DeleteFunc(declared(m.before), func(name string) bool { return slices.Contains(parameters, name) })
	if common(m.results, parameters) || common(before, slices.Concat(body, m.results)) ||
		common(declared(m.after), slices.Concat(parameters, m.results, before)) || common(declaredWithin(m.after), m.results) {
		return false
	}
	changed := assignedIn(m.theirs.Body)
	for _, name := range used(m.after) {
		if m.assigned[name] != "" || slices.Contains(parameters, name) && slices.Contains(changed, m.renamed[name]) {
			return false
		}
	}
	used := identifiers(m.ours.Body, false)
	for from, to := range m.renamed {
		if from != to && slices.Contains(used, to) {
			return false
		}
	}
	return true
}

// common reports whether two lists have a name in common.
func common(a, b []string) bool {
	return slices.ContainsFunc(a, func(name string) bool { return slices.Contains(b, name) })
}
